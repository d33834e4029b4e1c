package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"textskill/skill/fleet"
)

// Blobs implements [fleet.Plane].
func (p *Plane) Blobs(workspace string) fleet.Blobs { return &blobs{p, workspace} }

type blobs struct {
	plane     *Plane
	workspace string
}

func (b *blobs) subject(sum string) (string, error) {
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size {
		return "", fmt.Errorf("%.80q is not a SHA-256 in hexadecimal digits", sum)
	}
	return subject("skill.blobs.%.%", b.workspace, strings.ToLower(sum))
}

// stored reports whether the leader of the stream has a blob.
func (b *blobs) stored(ctx context.Context, subj string) (bool, error) {
	found, err := subjects(ctx, b.plane.blobs, subj)
	return found[subj] > 0, err
}

// Put implements [fleet.Blobs].
func (b *blobs) Put(ctx context.Context, sum string, data []byte) error {
	subj, err := b.subject(sum)
	if err != nil {
		return err
	}
	if len(data) > fleet.MaxMessage {
		return fmt.Errorf("a blob has %d bytes, more than the limit of %d", len(data), fleet.MaxMessage)
	}
	m := nats.NewMsg(subj)
	m.Data = data
	return b.plane.reach(ctx, func(ctx context.Context) error {
		_, err := b.plane.publish(ctx, m)
		if !errors.Is(err, errFull) {
			return err
		}
		// The blob is stored, or another Put of the blob is in progress and may still fail.
		there, err := b.stored(ctx, subj)
		if err == nil && !there {
			err = errBusy
		}
		return err
	})
}

// Get implements [fleet.Blobs]. It fails if the bytes do not have the sum.
func (b *blobs) Get(ctx context.Context, sum string) (data []byte, err error) {
	subj, err := b.subject(sum)
	if err != nil {
		return nil, err
	}
	err = b.plane.reach(ctx, func(ctx context.Context) error {
		m, err := b.plane.blobs.GetLastMsgForSubject(ctx, subj)
		switch {
		case err == nil:
			data = m.Data
		case errors.Is(err, jetstream.ErrMsgNotFound): // a replica answers, which may lag
			var there bool
			if there, err = b.stored(ctx, subj); err == nil && there {
				err = errBusy
			} else if err == nil {
				err = fmt.Errorf("blob %s of workspace %s: %w", sum, b.workspace, fleet.ErrNoBlob)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != strings.ToLower(sum) {
		return nil, fmt.Errorf("blob %s of workspace %s is damaged", sum, b.workspace)
	}
	return data, nil
}

// Purge implements [fleet.Blobs].
func (b *blobs) Purge(ctx context.Context, keep map[string]bool) error {
	all, err := subject("skill.blobs.%.*", b.workspace)
	if err != nil {
		return err
	}
	var found map[string]uint64
	err = b.plane.reach(ctx, func(ctx context.Context) (err error) {
		found, err = subjects(ctx, b.plane.blobs, all)
		return err
	})
	if err != nil {
		return err
	}
	maps.DeleteFunc(found, func(subj string, _ uint64) bool {
		return keep[subj[strings.LastIndexByte(subj, '.')+1:]]
	})
	return each(maps.Keys(found), func(subj string) error {
		return b.plane.reach(ctx, func(ctx context.Context) error {
			return b.plane.blobs.Purge(ctx, jetstream.WithPurgeSubject(subj))
		})
	})
}
