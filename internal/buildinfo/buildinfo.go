// Package buildinfo holds the version that the programs of this module report and compare.
package buildinfo

// Version of unwedge and of its helper; both must agree.
const Version = "0.1.0"
