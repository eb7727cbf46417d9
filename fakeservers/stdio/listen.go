package stdio

import "encoding/json"

// listen keeps a subscriptions/listen open until the client cancels it. Its result is the end of the subscription.
func (f *fake) listen(r *request) (any, *rpcError) {
	switch {
	case !r.modern:
		return nil, failure(codeNoMethod, "method not found: %q", r.method)
	case !r.given:
		return nil, failure(codeInvalid, `missing required "params"`)
	case r.params.Notifications == nil:
		return nil, failure(codeBadParams, "missing required 'notifications' field")
	}
	granted := *r.params.Notifications
	key := idKey(r.id)
	f.mu.Lock()
	f.listens[key] = granted
	f.mu.Unlock()
	mark := &resultMeta{SubscriptionID: json.RawMessage(key)}
	f.send(answer{
		Method: "notifications/subscriptions/acknowledged",
		Params: acknowledged{Meta: mark, Notifications: granted},
	})
	if granted.Tools {
		<-r.ctx.Done()
	}
	f.mu.Lock()
	delete(f.listens, key)
	f.mu.Unlock()
	if f.ctx.Err() != nil {
		return nil, nil // end of file: nobody is left to tell
	}
	b := f.base(r)
	b.Meta.SubscriptionID = mark.SubscriptionID
	return emptyResult{b}, nil
}

// announce sends a notification. A changed tool list goes to a handshake's session as it is, and in the modern era to those who
// listen for it, and to nobody else.
func (f *fake) announce(method string) {
	if method != listChangedMethod {
		f.send(answer{Method: method, Params: struct{}{}})
		return
	}
	f.mu.Lock()
	legacy := f.legacy
	var ids []json.RawMessage
	for id, want := range f.listens {
		if want.Tools {
			ids = append(ids, json.RawMessage(id))
		}
	}
	f.mu.Unlock()
	if legacy {
		f.send(answer{Method: method, Params: listChanged{}})
	}
	for _, id := range ids {
		f.send(answer{Method: method, Params: listChanged{Meta: &resultMeta{SubscriptionID: id}}})
	}
}
