// Package supervisor keeps MCP sessions alive.
package supervisor
