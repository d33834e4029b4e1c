package pack

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrKey says that files are encrypted with a key that this machine lacks.
var ErrKey = errors.New("the key of its tenant is needed")

// maxBlob is the largest size of a blob, in bytes.
const maxBlob = 900 << 10

// A kind is the kind of a blob.
type kind byte

const (
	aPack     kind = 'p'
	aManifest kind = 'm'
)

func (k kind) String() string {
	if k == aPack {
		return "pack"
	}
	return "manifest"
}

// The head of a blob is its version, its kind and its flags, one byte each. In an encrypted blob
// a salt follows. Each blob has its own key, derived from the salt. GCM authenticates the head too.
const (
	blobVersion = 2
	headSize    = 3

	flagCompressed = 1
	flagEncrypted  = 2

	keySize  = 32
	saltSize = 32
)

// A storage stores the blobs of one folder.
type storage struct {
	blobs Blobs
	key   []byte // nil for blobs that are not encrypted
}

// store stores a sealed blob.
func (s *storage) store(ctx context.Context, k kind, sum string, data []byte) error {
	if len(data) > maxBlob {
		return fmt.Errorf("a %s has %d bytes, more than the %d of a blob", k, len(data), maxBlob)
	}
	if err := s.blobs.Put(ctx, sum, data); err != nil {
		return fmt.Errorf("storing %s %s: %w", k, sum, err)
	}
	return nil
}

// get returns the plain bytes of a blob, at most limit. For a pack that is a part of a manifest,
// it returns the manifest.
func (s *storage) get(ctx context.Context, k kind, sum string, limit int) ([]byte, error) {
	data, err := s.blobs.Get(ctx, sum)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", k, sum, err)
	}
	if hash := sha256.Sum256(data); hex.EncodeToString(hash[:]) != sum {
		return nil, fmt.Errorf("%s %s is damaged: its stored bytes have the sum %x", k, sum, hash)
	}
	plain, err := s.open(k, data, limit)
	if err != nil {
		return nil, fmt.Errorf("%s %s %w", k, sum, err)
	}
	return plain, nil
}

// compressors are reused, because each allocates 1.2 MB.
var compressors = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err)
	}
	return w
}}

// seal returns the blob of plain bytes.
func (s *storage) seal(k kind, plain []byte) ([]byte, error) {
	head := []byte{blobVersion, byte(k), 0}
	room := headSize + saltSize + 16 // 16 for the tag of GCM
	body := bytes.NewBuffer(make([]byte, 0, len(plain)+len(plain)/16+room))
	w := compressors.Get().(*flate.Writer)
	w.Reset(body)
	w.Write(plain) // a buffer never fails
	w.Close()
	compressors.Put(w)
	content := plain
	if body.Len() < len(plain)-len(plain)/16 {
		head[2], content = flagCompressed, body.Bytes()
	}
	if s.key == nil {
		return append(head, content...), nil
	}
	head[2] |= flagEncrypted
	salt := make([]byte, saltSize, len(content)+room)
	rand.Read(salt)
	gcm, err := s.cipher(salt)
	if err != nil {
		return nil, err
	}
	return gcm.Seal(append(head, salt...), make([]byte, gcm.NonceSize()), content, head), nil
}

// open returns the plain bytes of a blob.
func (s *storage) open(k kind, data []byte, limit int) (plain []byte, err error) {
	if err := s.checkHead(k, data); err != nil {
		return nil, err
	}
	head, content := data[:headSize], data[headSize:]
	if s.key != nil {
		if content, err = s.decrypt(head, content); err != nil {
			return nil, err
		}
	}
	if head[2]&flagCompressed == 0 {
		if len(content) > limit {
			return nil, errors.New("is damaged: it is too large")
		}
		return content, nil
	}
	plain, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(content)), int64(limit)+1))
	if err == nil && len(plain) > limit {
		err = errors.New("it is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("is damaged: %w", err)
	}
	return plain, nil
}

// checkHead checks the head of a blob.
func (s *storage) checkHead(k kind, data []byte) error {
	switch {
	case len(data) < headSize || data[0] != blobVersion || data[2]&^(flagCompressed|flagEncrypted) != 0:
		return errors.New("has a form that this version cannot read")
	case kind(data[1]) != k && !(k == aPack && kind(data[1]) == aManifest):
		return errors.New("is of another kind")
	case data[2]&flagEncrypted != 0 && s.key == nil:
		return fmt.Errorf("is encrypted; %w", ErrKey)
	case data[2]&flagEncrypted == 0 && s.key != nil:
		return errors.New("is not encrypted, though a key is set")
	}
	return nil
}

// decrypt returns the content of an encrypted blob.
func (s *storage) decrypt(head, content []byte) ([]byte, error) {
	if len(content) < saltSize {
		return nil, errors.New("is damaged")
	}
	gcm, err := s.cipher(content[:saltSize])
	if err != nil {
		return nil, err
	}
	if content, err = gcm.Open(nil, make([]byte, gcm.NonceSize()), content[saltSize:], head); err != nil {
		return nil, fmt.Errorf("was encrypted with another key; %w", ErrKey)
	}
	return content, nil
}

// cipher returns the cipher of the blob with this salt. The nonce is zero, because each key
// encrypts one blob.
func (s *storage) cipher(salt []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, s.key, salt, "skill fleet pack", keySize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
