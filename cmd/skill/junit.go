package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A junitSuite is the report of golden files in the form of JUnit, which CI services read.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"` // seconds
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	File    string     `xml:"file,attr"`
	Line    int        `xml:"line,attr,omitempty"`
	Time    string     `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Error   *junitText `xml:"error"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes the report of golden files.
func writeJUnit(file string, results []goldenResult) error {
	suite := junitSuite{Name: "skill test", Tests: len(results)}
	seconds := 0.0
	for _, r := range results {
		name := filepath.ToSlash(r.File)
		c := junitCase{Class: cmp.Or(strings.ReplaceAll(filepath.ToSlash(filepath.Dir(r.File)), "/", "."), "."),
			Name: strings.TrimSuffix(filepath.Base(r.File), ".txtar"), File: name, Line: r.Line,
			Time: fmt.Sprintf("%.3f", r.Seconds)}
		switch {
		case r.Error != "":
			c.Error = &junitText{"it could not be played", r.Error}
			suite.Errors++
		case !r.OK:
			c.Failure = &junitText{"it prints something else", r.Diff}
			suite.Failures++
		}
		seconds += r.Seconds
		suite.Cases = append(suite.Cases, c)
	}
	suite.Time = fmt.Sprintf("%.3f", seconds)
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte(xml.Header), append(text, '\n')...), 0o666)
}
