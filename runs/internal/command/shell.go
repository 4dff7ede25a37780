package command

import "strings"

// ShellLine joins arguments as a shell would read them again.
func ShellLine(args ...string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		if quoted[i] = arg; arg == "" || strings.ContainsAny(arg, " \t\n\"'\\$`&|;<>()*?[]#~!{}") {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
