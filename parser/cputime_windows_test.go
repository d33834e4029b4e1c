package parser_test

import "time"

var begun = time.Now()

// cpuTime is the time that has passed.
func cpuTime() time.Duration { return time.Since(begun) }
