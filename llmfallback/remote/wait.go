package remote

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// after returns how long the headers of an answer ask to wait.
func (c *Client) after(h http.Header) time.Duration {
	if d := retryAfter(h, c.now()); d > 0 {
		return d
	}
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(min(ms, 1e9) * float64(time.Millisecond))
	}
	var longest time.Duration
	for name, values := range h {
		if strings.Contains(strings.ToLower(name), "ratelimit-reset") ||
			strings.HasPrefix(name, "Anthropic-Ratelimit-") && strings.HasSuffix(name, "-Reset") {
			if spent(h, name) {
				longest = max(longest, resetIn(values[0], c.now()))
			}
		}
	}
	return longest
}

// spent reports whether nothing remains of the limit whose reset a header names, as far as
// the endpoint says.
func spent(h http.Header, reset string) bool {
	remaining := h.Get(strings.Replace(reset, "Reset", "Remaining", 1))
	n, err := strconv.ParseFloat(remaining, 64)
	return err != nil || n <= 0
}

// resetIn reads when a limit is reset: "1s", "6m0s", seconds, a date, or seconds or
// milliseconds since 1970.
func resetIn(value string, now time.Time) time.Duration {
	if d, err := time.ParseDuration(value); err == nil {
		return max(d, 0)
	}
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return max(at.Sub(now), 0)
	}
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil || n <= 0:
		return 0
	case n > 1e11:
		return max(time.UnixMilli(int64(n)).Sub(now), 0)
	case n > 1e8:
		return max(time.Unix(int64(n), 0).Sub(now), 0)
	}
	return time.Duration(n * float64(time.Second))
}

// retryAfter reads the header in seconds or as a date; 0 for none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 1e6) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), time.Nanosecond)
	}
	return 0
}

// waitWords finds a wait in "Please try again in 7m12.5s", "retry after 20 seconds",
// "retryDelay: 31s", "in 500ms".
var waitWords = sync.OnceValue(func() *regexp.Regexp {
	const unit = `(?:milliseconds?|ms|seconds?|sec|s|minutes?|min|m|hours?|h|days?|d)`
	return regexp.MustCompile(`(?i)(?:(?:try|retry)(?:ing)?(?: again)? (?:in|after)|wait(?: for)?|available (?:again )?in|resets? in|retry_?after|retryDelay)["':= ]*((?:\d+(?:\.\d+)? ?` + unit + `?[ ,]*(?:and )?)+)`)
})

var waitPart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(\d+(?:\.\d+)?) ?([a-z]*)`)
})

var resetWords = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^X-RateLimit-Reset (\S+)$`) })

// loadingWords finds "Loading model" of llama.cpp and "Model m is currently loading" of others.
var loadingWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bloading\b.{0,20}\bmodel|\bmodel\b.{0,120}\b(loading|being loaded)\b`)
})

// wait returns how long a complaint asks to wait, 0 if it does not say.
func (c complaint) wait(now time.Time) time.Duration {
	if m := resetWords().FindStringSubmatch(c.all); m != nil { // of OpenRouter
		return resetIn(m[1], now)
	}
	m := waitWords().FindStringSubmatch(c.all)
	if m == nil {
		return 0
	}
	var total time.Duration
	for _, part := range waitPart().FindAllStringSubmatch(m[1], -1) {
		n, _ := strconv.ParseFloat(part[1], 64)
		unit := time.Second
		switch u := strings.ToLower(part[2]); {
		case strings.HasPrefix(u, "ms"), strings.HasPrefix(u, "mil"):
			unit = time.Millisecond
		case strings.HasPrefix(u, "m"):
			unit = time.Minute
		case strings.HasPrefix(u, "h"):
			unit = time.Hour
		case strings.HasPrefix(u, "d"):
			unit = 24 * time.Hour
		}
		total += time.Duration(min(n, 1e6) * float64(unit))
	}
	return total
}
