package process

import (
	"context"
	"os"
	"time"
)

// A command that a person starts may serve all day: it waits for requests, or for files to change. It
// serves once its processes have not used the processor for waitsFor, while one of them listens at a
// TCP port or watches files. From then on its changes are not recorded, because nothing tells them from
// what the person and other commands change. A program that reads single keys of the terminal does not
// serve: an editor and an agent wait for the person, and their changes are recorded to the end.
const (
	waitsFor  = 2 * time.Second
	waitsTick = 250 * time.Millisecond
)

// serving is closed once the command that this process has started serves, unless ctx ends before. readsKeys
// reports whether the command reads single keys.
func serving(ctx context.Context, readsKeys func() bool) <-chan struct{} {
	serves := make(chan struct{})
	go func() {
		tick := time.NewTicker(waitsTick)
		defer tick.Stop()
		used, since := int64(-1), time.Time{}
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				switch all := descendants(os.Getpid()); {
				case len(all) == 0:
				case processorTime(all) != used || readsKeys() || !waits(all):
					used, since = processorTime(all), now
				case now.Sub(since) >= waitsFor:
					close(serves)
					return
				}
			}
		}
	}()
	return serves
}
