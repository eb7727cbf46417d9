package redact

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

const secret = `s3cr"et/ü value+1`

func TestSUP13_NoFormOfASecretSurvives(t *testing.T) {
	r := New(secret, "Bearer tok-abcdef", "1", "")
	for _, s := range []string{
		secret, fmt.Sprintf("%q", secret), url.QueryEscape(secret), "x" + secret + secret + "y",
		"Authorization: Bearer tok-abcdef", "the token tok-abcdef leaked",
	} {
		got := r.String(s)
		if strings.Contains(got, "s3cr") || strings.Contains(got, "tok-") {
			t.Errorf("%q became %q", s, got)
		}
	}
	if got := r.String("exit status 1"); got != "exit status 1" {
		t.Errorf("a short value was taken for a secret: %q", got)
	}
}

func TestSUP13_TheTailHidesHalvesOfSecrets(t *testing.T) {
	r := New("0123456789abcdef")
	stream := "start 0123456789abcdef middle 0123456789abcdef end"
	for from := range stream {
		for to := from; to <= len(stream); to++ {
			if from > 0 && to-from < 16 {
				continue // whoever cuts keeps at least Longest bytes
			}
			got := r.Tail([]byte(stream[from:to]), from > 0, 1000)
			for n := 0; n+3 <= 16; n++ {
				if piece := "0123456789abcdef"[n : n+3]; strings.Contains(got, piece) {
					t.Fatalf("stream[%d:%d] shows %q: %q", from, to, piece, got)
				}
			}
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var none *Redactor
	if got := none.Tail([]byte("abcdef"), true, 3); got != "def" {
		t.Errorf("got %q", got)
	}
	if got := New("hidden").Tail([]byte("abc hidden def"), false, 5); got != "] def" {
		t.Errorf("got %q", got)
	}
	if none.String("x") != "x" || none.Longest() != 0 {
		t.Error("the nil redactor should know nothing")
	}
}
