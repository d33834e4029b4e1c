package browser_test

import (
	"textskill/skill"
	"textskill/skill/browser"
)

// A program that takes screenshots links this package.
func ExampleNew() {
	x, err := skill.New(skill.Config{Dir: ".", Network: true, Browser: browser.New()})
	if err != nil {
		panic(err)
	}
	defer x.Close()
}
