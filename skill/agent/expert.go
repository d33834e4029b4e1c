package agent

// An Expert is a model with an instruction and tools, as perstack.toml defines it.
type Expert struct {
	Key               string `toml:"-" json:"-"`
	Version           string `toml:"version" json:"version"`
	MinRuntimeVersion string `toml:"minRuntimeVersion" json:"minRuntimeVersion,omitempty"`
	// for experts that delegate to it
	Description string `toml:"description" json:"description,omitempty"`
	Instruction string `toml:"instruction" json:"instruction"`
	// by name; the Base Skill may be left out
	Skills    map[string]SkillConfig `toml:"skills" json:"skills,omitempty"`
	Delegates []string               `toml:"delegates" json:"delegates,omitempty"` // keys of experts
	Tags      []string               `toml:"tags" json:"tags,omitempty"`

	ProviderTools any `toml:"providerTools" json:"-"` // accepted, and without effect: see [Project.Ignored]
}

// ref returns a reference to the expert.
func (e Expert) ref() ExpertRef { return ExpertRef{e.Key, e.Key, e.Version} }

// A SkillConfig configures a skill. Which fields it has depends on its type.
type SkillConfig struct {
	// "mcpStdioSkill", "mcpSseSkill", "interactiveSkill" or "builtin"
	Type        string   `toml:"type" json:"type"`
	Description string   `toml:"description" json:"description,omitempty"`
	Rule        string   `toml:"rule" json:"rule,omitempty"` // for the model
	Pick        []string `toml:"pick" json:"pick,omitempty"` // names of tools to use; empty means all
	Omit        []string `toml:"omit" json:"omit,omitempty"` // names of tools to leave out
	Command     string   `toml:"command" json:"command,omitempty"`
	// only argument of the command, instead of Args
	PackageName string   `toml:"packageName" json:"packageName,omitempty"`
	Args        []string `toml:"args" json:"args,omitempty"`
	// names of the variables that the command gets
	RequiredEnv []string `toml:"requiredEnv" json:"requiredEnv,omitempty"`
	LazyInit    bool     `toml:"lazyInit" json:"lazyInit,omitempty"`
	// that the tools and commands of a builtin reach; nil means all
	AllowedDomains []string `toml:"allowedDomains" json:"allowedDomains,omitempty"`
	Endpoint       string   `toml:"endpoint" json:"endpoint,omitempty"` // a URL

	// the variable whose value the endpoint gets as a bearer token
	BearerTokenEnv string `toml:"bearerTokenEnv" json:"bearerTokenEnv,omitempty"`
	// headers that the endpoint gets, with the variables of their values
	EnvHeaders map[string]string `toml:"envHeaders" json:"envHeaders,omitempty"`

	Tools   map[string]InteractiveTool `toml:"-" json:"tools,omitempty"`   // of an interactiveSkill, by name
	Dialect string                     `toml:"-" json:"dialect,omitempty"` // of a builtin, whose tools it has

	ToolsTOML any `toml:"tools" json:"-"` // Tools or Dialect as perstack.toml has them: see [ReadProject]
}

// An InteractiveTool is a tool whose calls are answered by the user who started the run.
type InteractiveTool struct {
	Description     string `toml:"description" json:"description,omitempty"`
	InputJSONSchema string `toml:"inputJsonSchema" json:"inputJsonSchema"`
}
