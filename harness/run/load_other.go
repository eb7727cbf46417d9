//go:build !linux

package run

func loadAverage() float64 { return 0 }
