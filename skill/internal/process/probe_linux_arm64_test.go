package process

// legacyModeCalls are calls with a mode that this architecture lacks.
var legacyModeCalls = map[string]uintptr{}
