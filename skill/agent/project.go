package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/pelletier/go-toml/v2"

	"textskill/skill"
)

// ProjectFile is the name of the file that defines experts.
const ProjectFile = "perstack.toml"

// A Project is the content of a perstack.toml. Settings that are not in the file are nil,
// or the zero value if that is not a valid setting.
type Project struct {
	Provider    Provider          `toml:"provider"`
	Model       string            `toml:"model"`
	Temperature *float64          `toml:"-"` // below 0 leaves it to the endpoint
	MaxSteps    *int              `toml:"maxSteps"`
	MaxRetries  *int              `toml:"maxRetries"`
	Timeout     *int              `toml:"timeout"` // milliseconds
	EnvPath     []string          `toml:"envPath"` // files that define variables
	Experts     map[string]Expert `toml:"experts"`

	ReasoningBudget string `toml:"-"`       // how much the model thinks: one of ReasoningBudgets, or ""
	Runtime         string `toml:"runtime"` // one of runtimes, or "" for perstack

	TemperatureTOML any `toml:"temperature"` // Temperature as the file has it: a number or "default"
	// ReasoningBudget as the file has it: a word, or a number of tokens
	ReasoningTOML any `toml:"reasoningBudget"`

	// Accepted, and without effect: see Ignored.
	PerstackAPIBaseURL       string   `toml:"perstackApiBaseUrl"`
	PerstackBaseSkillCommand []string `toml:"perstackBaseSkillCommand"`
}

// Expert returns an expert by its key.
func (p Project) Expert(key string) (Expert, error) {
	e, ok := p.Experts[key]
	switch {
	case len(p.Experts) == 0:
		return e, fmt.Errorf("expert %q is not defined, nor is any other", key)
	case !ok && p.Near(key) != "":
		return e, fmt.Errorf("expert %q is not defined; did you mean %s?", key, p.Near(key))
	case !ok:
		return e, fmt.Errorf("expert %q is not defined; %s defines %s", key, ProjectFile,
			strings.Join(slices.Sorted(maps.Keys(p.Experts)), ", "))
	}
	e.Key = key
	return e, nil
}

// Near returns the expert whose key is nearly the given one, "" for none.
func (p Project) Near(key string) (best string) {
	least := len(key)/3 + 1
	for _, name := range slices.Sorted(maps.Keys(p.Experts)) {
		if n := skill.Distance(key, name); n < least {
			best, least = name, n
		}
	}
	return best
}

// Ignored says which settings of the project have no effect, and why.
func (p Project) Ignored() (list []string) {
	if p.PerstackAPIBaseURL != "" {
		list = append(list, ProjectFile+": perstackApiBaseUrl has no effect; experts are those of the file")
	}
	if p.Runtime != "" && p.Runtime != "perstack" {
		list = append(list, fmt.Sprintf("%s: runtime %q has no effect; "+
			"experts run in this program, and their commands in its sandbox", ProjectFile, p.Runtime))
	}
	for _, key := range slices.Sorted(maps.Keys(p.Experts)) {
		if p.Experts[key].ProviderTools != nil {
			list = append(list, fmt.Sprintf("%s: experts.%s: providerTools has no effect; "+
				"an expert has the tools of its skills", ProjectFile, key))
		}
	}
	if p.PerstackBaseSkillCommand != nil {
		list = append(list, ProjectFile+
			": perstackBaseSkillCommand has no effect; the Base Skill is built in")
	}
	return list
}

// A Provider says where the model is.
type Provider struct {
	ProviderName string `toml:"providerName"`
	Setting      struct {
		BaseURL string `toml:"baseUrl"`
	} `toml:"setting"`

	ContextWindow int    `toml:"contextWindow"` // of the model, in tokens; 0 if it is not said
	Tools         string `toml:"tools"`         // TextTools, or "" for tools as the protocol has them
}

// TextTools is the setting for a model without tools: they are described to it in words, and
// its calls are read from its text.
const TextTools = "text"

// readProvider checks what a project says of the model.
func (p *Project) readProvider() error {
	switch t := p.TemperatureTOML.(type) {
	case nil:
	case float64:
		p.Temperature = &t
	case int64:
		p.Temperature = new(float64(t))
	case string:
		if t != "default" {
			return fmt.Errorf(`%s: temperature %q: it is a number from 0 to 2, or "default", which leaves it to the endpoint`, ProjectFile, t)
		}
		p.Temperature = new(-1.0)
	default:
		return fmt.Errorf(`%s: temperature is a number from 0 to 2, or "default"`, ProjectFile)
	}
	switch v := p.Provider; {
	case v.ContextWindow < 0 || v.ContextWindow > 0 && v.ContextWindow < MinWindow:
		return fmt.Errorf("%s: provider.contextWindow %d: it is a number of tokens, at least %d", ProjectFile,
			v.ContextWindow, MinWindow)
	case v.Tools != "" && v.Tools != TextTools:
		return fmt.Errorf("%s: provider.tools %q: it is %q, or left out", ProjectFile, v.Tools, TextTools)
	}
	return nil
}

// MinWindow is the smallest context window that a run can work in, in tokens.
const MinWindow = 2048

// ErrNoProject is the error of a folder that has no perstack.toml, nor has one above it.
//
//lint:ignore ST1005 the wording of the original runtime
var ErrNoProject = errors.New("perstack.toml not found. Create one or specify --config path.")

// FindProject returns the path of the perstack.toml in dir, or in the nearest directory
// above it that has one. A file of another user above dir is not used.
func FindProject(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	others := ""
	for above := false; ; above = true {
		file := filepath.Join(dir, ProjectFile)
		info, err := os.Stat(file)
		link, lerr := os.Lstat(file)
		switch {
		case err != nil || lerr != nil || !info.Mode().IsRegular():
		case above && !(ownedByUser(info) && ownedByUser(link)):
			others += " " + file + " belongs to another user and is not used."
		default:
			return file, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%w%s", ErrNoProject, others)
		}
		dir = filepath.Dir(dir)
	}
}

// ReadProject parses a perstack.toml. Its errors name the line and what is wrong.
func ReadProject(data []byte) (Project, error) {
	var p Project
	d := toml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF")))).DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, wrongTOML(err)
	}
	if p.Runtime != "" && !slices.Contains(runtimes, p.Runtime) {
		return p, fmt.Errorf("%s: runtime %q is another program; leave it out: experts run in this one",
			ProjectFile, p.Runtime)
	}
	if p.ReasoningTOML != nil {
		var ok bool
		if p.ReasoningBudget, ok = Reasoning(fmt.Sprint(p.ReasoningTOML)); !ok {
			return p, fmt.Errorf("%s: reasoningBudget %q is not supported; choose %s, or a number of tokens",
				ProjectFile, fmt.Sprint(p.ReasoningTOML), strings.Join(ReasoningBudgets, ", "))
		}
	}
	if err := p.readProvider(); err != nil {
		return p, err
	}
	for _, key := range slices.Sorted(maps.Keys(p.Experts)) {
		e := p.Experts[key]
		for _, name := range slices.Sorted(maps.Keys(e.Skills)) {
			c := e.Skills[name]
			if err := c.readTools(); err != nil {
				return p, fmt.Errorf("%s: experts.%s: skills.%s: %w", ProjectFile, key, name, err)
			}
			e.Skills[name] = c
		}
		if err := e.check(p.Experts); err != nil {
			return p, fmt.Errorf("%s: experts.%s: %w", ProjectFile, key, err)
		}
		if e.Key = key; e.Version == "" {
			e.Version = "1.0.0"
		}
		p.Experts[key] = e
	}
	return p, nil
}

// wrongTOML rewords the library's errors, with the line of each unknown key.
func wrongTOML(err error) error {
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		var unknown []string
		for _, e := range missing.Errors {
			line, _ := e.Position()
			unknown = append(unknown,
				fmt.Sprintf("line %d: unknown key %s", line, strings.Join(e.Key(), ".")))
		}
		return fmt.Errorf("%s: %s", ProjectFile, strings.Join(unknown, "; "))
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := wrong.Position()
		why := strings.TrimPrefix(wrong.Error(), "toml: ")
		if kind, _, ok := strings.Cut(why, " into "); ok { // the Go type follows
			why = strings.Join(wrong.Key(), ".") + " cannot be of type " + strings.TrimPrefix(kind, "cannot decode TOML ")
		}
		return fmt.Errorf("%s: line %d, column %d: %s", ProjectFile, line, column, why)
	}
	return fmt.Errorf("%s: %w", ProjectFile, err)
}

// runtimes are the settings of runtime that mean this program, or a place that it needs not.
var runtimes = []string{"perstack", "local", "docker"}

// ReasoningBudgets lists how much a model may be let think.
var ReasoningBudgets = []string{"none", "minimal", "low", "medium", "high"}

// ReasoningTokens are how many tokens of thinking each of the first [ReasoningBudgets] stands for; the
// last one stands for more.
var ReasoningTokens = []int{0, 1024, 2048, 8192}

// Reasoning returns the one of [ReasoningBudgets] that a word or a number of tokens means.
func Reasoning(text string) (budget string, ok bool) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return text, slices.Contains(ReasoningBudgets, text)
	}
	i, _ := slices.BinarySearch(ReasoningTokens, n)
	return ReasoningBudgets[i], true
}

// runtimeVersion is the version of the runtime that minRuntimeVersion is compared with.
const runtimeVersion = "1.0.0"

// newerThan reports whether a version like 1.2.3, possibly without some parts, is later
// than another. Any other text is later than all versions.
func newerThan(version, other string) bool {
	have := strings.Split(other, ".")
	for i, part := range strings.Split(strings.TrimPrefix(version, "v"), ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return true
		}
		m := 0
		if i < len(have) {
			m, _ = strconv.Atoi(have[i])
		}
		if n != m {
			return n > m
		}
	}
	return false
}

// maxInstruction is the maximum length of an instruction, in UTF-16 code units.
const maxInstruction = 20480

// check validates the fields of an expert.
func (e Expert) check(all map[string]Expert) error {
	switch n := len(utf16.Encode([]rune(e.Instruction))); {
	case n == 0:
		return errors.New("instruction is required")
	case n > maxInstruction:
		return fmt.Errorf("instruction is too long: %d characters; at most %d", n, maxInstruction)
	}
	if v := e.MinRuntimeVersion; v != "" && newerThan(v, runtimeVersion) {
		return fmt.Errorf("minRuntimeVersion %s is later than that of this program, %s", v, runtimeVersion)
	}
	for _, d := range e.Delegates {
		if _, ok := all[d]; !ok {
			if strings.HasPrefix(d, "@") {
				return fmt.Errorf("delegates: expert %q is one of a registry, which this program does not ask; define it here", d)
			}
			return fmt.Errorf("delegates: expert %q is not defined", d)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Skills)) {
		if err := e.Skills[name].check(name); err != nil {
			return fmt.Errorf("skills.%s: %w", name, err)
		}
	}
	return nil
}

// The types of skills.
const (
	stdioSkill       = "mcpStdioSkill"
	sseSkill         = "mcpSseSkill"
	interactiveSkill = "interactiveSkill"
	builtinSkill     = "builtin"
)

// check validates the fields of a skill. For the Base Skill, which is built in, it ignores
// how to start it.
func (c SkillConfig) check(name string) error {
	if c.AllowedDomains != nil && c.Type != builtinSkill {
		return errors.New("allowedDomains is not supported: what a skill connects to cannot be restricted to names; leave it out")
	}
	switch c.Type {
	case stdioSkill:
		if c.Command == "" {
			return errors.New("command is required")
		}
		if c.PackageName != "" && len(c.Args) > 0 && name != baseSkill {
			return errors.New("packageName and args are both given; there must be exactly one of them")
		}
	case sseSkill:
		return c.checkEndpoint()
	case interactiveSkill:
		if len(c.Tools) == 0 {
			return errors.New("tools are required")
		}
		for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
			var schema map[string]any
			if json.Unmarshal([]byte(c.Tools[name].InputJSONSchema), &schema) != nil || schema == nil {
				return fmt.Errorf("tools.%s: inputJsonSchema is not a JSON object", name)
			}
		}
	case builtinSkill:
		return c.checkBuiltin(name)
	default:
		return fmt.Errorf("unknown type %q; choose %s, %s, %s or %s", c.Type, stdioSkill, sseSkill,
			interactiveSkill, builtinSkill)
	}
	return nil
}

// checkEndpoint validates where a server of a skill is, and what it is sent.
func (c SkillConfig) checkEndpoint() error {
	if c.Endpoint == "" {
		return errors.New("endpoint is required")
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("endpoint is not a URL like https://example.org/mcp")
	}
	return c.checkCredentials()
}
