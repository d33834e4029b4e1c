package dialect

import "path/filepath"

// A check fails, with the message of the original, if something is wrong with a location.
type check func(in *call, at *location) error

func (in *call) pass(at *location, checks ...check) error {
	for _, c := range checks {
		if err := c(in, at); err != nil {
			return err
		}
	}
	return nil
}

// mustBeInside refuses a link that leads out of the workspace.
func mustBeInside(in *call, at *location) error {
	if at.outside {
		return in.leadsOut(at)
	}
	return nil
}

// mustNotLinkOutside is mustBeInside with the message of the tools for text files.
func mustNotLinkOutside(_ *call, at *location) error {
	if at.outside {
		return failf("Operation denied: target is a symbolic link")
	}
	return nil
}

// mustNotLinkNowhere refuses a link that leads outside, to nothing, or in a circle.
func mustNotLinkNowhere(_ *call, at *location) error {
	if at.link && !at.exists {
		return failf("Operation denied: target is a symbolic link")
	}
	return nil
}

// refuse returns a check that refuses a location, with words about the path as it was given.
func refuse(words string, wrong func(at *location) bool) check {
	return func(_ *call, at *location) error {
		if wrong(at) {
			return failf(words, at.given)
		}
		return nil
	}
}

func mustExist(words string) check {
	return refuse(words, func(at *location) bool { return !at.exists })
}

func mustNotExist(words string) check {
	return refuse(words, func(at *location) bool { return at.exists || at.outside })
}

// mustBeWritable refuses what the owner may not write to, by its mode alone.
func mustBeWritable(words string) check {
	return refuse(words, func(at *location) bool { return at.exists && at.info.Mode&0o200 == 0 })
}

func mustBeFolder(words string) check {
	return refuse(words, func(at *location) bool { return !at.info.IsDir() })
}

func mustNotBeFolder(words string) check {
	return refuse(words, func(at *location) bool { return at.info.IsDir() })
}

func mustHaveNoNUL(_ *call, at *location) error { return at.refuseNUL("path") }

// parentMustBeWritable refuses a location if the first folder above it that exists
// is not writable.
func parentMustBeWritable(in *call, at *location) error {
	for dir := filepath.Dir(at.path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := in.x.Look(in.s, dir, true)
		if err != nil {
			continue
		}
		if info.Mode&0o200 == 0 {
			return failf("Parent directory %s is not writable", dir)
		}
		return nil
	}
	return nil
}
