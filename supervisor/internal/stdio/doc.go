// Package stdio runs one MCP server as a child process and speaks to it over its standard streams: an
// mcp.Transport whose every part can be aborted (SUP-6, SUP-7, SUP-10).
//
// go-sdk's own CommandTransport notices death only at the end of stdout, can be blocked for ever by a full
// pipe, and ends at the first line that is no frame. So here the process, the pipes and the framing are
// ours, and go-sdk gets messages:
//
//	                +------------------------- Process --------------------------+
//	go-sdk  Write ->| queue (bytes bounded) -> stdin  |        |                 |
//	        Read  <-| frames <- lines      <- stdout  | child  | group, reaped   |
//	owner   Stderr<-| tail (bytes bounded) <- stderr  |        |                 |
//	        Dead  <-| watch (pidfd) ----------------- exit --> |                 |
//	                +------------------------------------------------------------+
//
// What holds:
//
//   - Write never blocks. What the pipe does not take at once waits in the queue, written by one goroutine
//     that exists only while something waits. A message that was not begun can be withdrawn.
//   - Read ends as soon as the process is dead, whoever still holds the other end of the pipe, after
//     everything that the process had written has been read.
//   - Dead is closed when exit status and last stderr lines are known, and before Read fails, so that whoever
//     sees a failed call can say why.
//   - Stop returns when process and group are gone and the process is reaped: EOF, grace, SIGTERM, grace,
//     SIGKILL. A stopped (SIGSTOP) process is killed without waiting for what it cannot hear.
//   - Lines that are no JSON-RPC frames are skipped and counted; no line, however odd, ends the session.
//
// One file a concern: process.go (start, death), stop.go (the ladder), watch_*.go (how exit is seen), queue*.go (writing),
// lines.go and frames.go (reading), conn.go (what go-sdk sees), tail.go (stderr). A newcomer most often changes
// frames.go: what counts as noise. The package imports go-sdk's mcp and jsonrpc and its sibling packages only.
package stdio
