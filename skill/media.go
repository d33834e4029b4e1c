package skill

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // a format that is looked into
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
)

// Media determines the media type of a file from the first bytes of the content, never
// from the name. It returns a [MediaFound].
type Media struct{ Path string }

func (Media) op() {}

// MediaFound is the result of [Media].
type MediaFound struct {
	Path string // absolute
	Type string // such as "image/png" or "application/pdf"
	Size int64  // bytes
}

// Message says which type the file has.
func (m MediaFound) Message() string { return m.Path + " holds " + m.Type }

// sniffLen is how many bytes determine the media type of a file.
const sniffLen = 512

func (x *Executor) Media(_ context.Context, s *Session, a Media) (MediaFound, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return MediaFound{}, err
	}
	f, info, err := x.ws.Open(abs)
	if err != nil {
		return MediaFound{}, err
	}
	defer f.Close()
	head := make([]byte, sniffLen)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return MediaFound{}, err
	}
	return MediaFound{abs, http.DetectContentType(head[:n]), info.Size}, nil
}

// The strictest limits of the models' providers. A picture above them fails the whole
// conversation that it is part of.
const (
	maxSide    = 2000    // pixels
	maxPicture = 3750000 // bytes
	shownSide  = 1568    // pixels of a larger picture that is shrunk
	maxPixels  = 50_000_000
)

// checkPicture returns a picture as models take it, and what was done to it. A picture that is
// damaged or cannot be shrunk is nil, and the note says why.
func checkPicture(kind string, data []byte) (out []byte, note string) {
	if kind == "application/pdf" {
		return data, ""
	}
	if !wholePicture(kind, data) {
		return nil, "the picture is damaged or cut: its end is missing"
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case kind == "image/webp" && len(data) > maxPicture:
		return nil, fmt.Sprintf("the picture has %d bytes, more than models take; convert it to PNG or JPEG", len(data))
	case kind == "image/webp":
		return data, ""
	case err != nil:
		return nil, "the picture is damaged: " + err.Error()
	case config.Width <= 0 || config.Height <= 0:
		return nil, "the picture is empty"
	}
	w, h := config.Width, config.Height
	long, short := max(w, h), min(w, h)
	switch {
	case long <= maxSide && len(data) <= maxPicture:
		return data, ""
	case w*h > maxPixels || long > 3*short:
		return nil, fmt.Sprintf("the picture has %dx%d pixels and %d bytes, more than models take; crop it into parts of at most %d pixels a side", w, h, len(data), maxSide)
	}
	return shrinkPicture(kind, data, w, h)
}

// shrinkPicture returns a picture of w by h pixels in a size that models take.
func shrinkPicture(kind string, data []byte, w, h int) (out []byte, note string) {
	whole, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, "the picture is damaged: " + err.Error()
	}
	small := shrink(whole, min(max(w, h), shownSide))
	var b bytes.Buffer
	if kind != "image/jpeg" {
		err = png.Encode(&b, small)
	}
	if err == nil && (kind == "image/jpeg" || b.Len() > maxPicture) { // a photograph is smaller so
		b.Reset()
		err = jpeg.Encode(&b, small, &jpeg.Options{Quality: 85})
	}
	if err != nil || b.Len() > maxPicture {
		return nil, fmt.Sprintf("the picture has %dx%d pixels and cannot be made small enough for models; crop it", w, h)
	}
	return b.Bytes(), fmt.Sprintf("shown at %dx%d of %dx%d", small.Bounds().Dx(), small.Bounds().Dy(), w, h)
}

// wholePicture reports whether a picture has the mark that its format ends with.
func wholePicture(kind string, data []byte) bool {
	switch kind {
	case "image/png":
		return bytes.Contains(data[max(0, len(data)-64):], []byte("IEND"))
	case "image/jpeg":
		return bytes.Contains(data[max(0, len(data)-1024):], []byte{0xff, 0xd9})
	case "image/gif":
		return bytes.HasSuffix(bytes.TrimRight(data, "\x00"), []byte{0x3b})
	case "image/webp":
		return len(data) >= 12 && int64(binary.LittleEndian.Uint32(data[4:]))+8 <= int64(len(data))
	}
	return true
}

// shrink returns a picture whose longer side has that many pixels. Each of its pixels is the
// mean of those that it stands for.
func shrink(src image.Image, side int) *image.NRGBA {
	from := src.Bounds()
	w, h := from.Dx(), from.Dy()
	to := image.Rect(0, 0, max(1, w*side/max(w, h)), max(1, h*side/max(w, h)))
	out := image.NewNRGBA(to)
	for y := range to.Dy() {
		top, bottom := y*h/to.Dy(), max(y*h/to.Dy()+1, (y+1)*h/to.Dy())
		for x := range to.Dx() {
			left, right := x*w/to.Dx(), max(x*w/to.Dx()+1, (x+1)*w/to.Dx())
			var sum [4]uint32
			for j := top; j < bottom; j++ {
				for i := left; i < right; i++ {
					c := color.NRGBAModel.Convert(src.At(from.Min.X+i, from.Min.Y+j)).(color.NRGBA)
					sum = [4]uint32{sum[0] + uint32(c.R), sum[1] + uint32(c.G), sum[2] + uint32(c.B),
						sum[3] + uint32(c.A)}
				}
			}
			n := uint32((bottom - top) * (right - left))
			out.SetNRGBA(x, y, color.NRGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n),
				uint8(sum[3] / n)})
		}
	}
	return out
}
