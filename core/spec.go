package core

// VerbSpec describes a verb's arguments, from which the edge makes its schema
// and the command line its flags, so that the three cannot part.
type VerbSpec struct {
	Verb Verb
	Args []ArgSpec
}

// ArgSpec is one argument. Doc is for the agent that fills it in.
type ArgSpec struct {
	Name     string
	Type     ArgType
	Required bool
	Doc      string
}

// ArgType is an argument's JSON type.
type ArgType int

// The types that arguments have.
const (
	StringArg ArgType = iota
	BoolArg
	StringsArg
)

// VerbSpecs are the six verbs in their order.
func VerbSpecs() []VerbSpec {
	common := []ArgSpec{
		{"correlationId", StringArg, false, "Thread this message belongs to; absent: the bus mints cor-NNNN."},
		{"replyTo", StringArg, false, "Actor that an answer should go to; absent: the sender."},
		{"expectsReply", BoolArg, false, "Whether the sender hopes for an answer."},
		{"requestedAuthority", StringsArg, false, "Advisory words asked for (read observe suggest draft report); any other is denied, recorded and has no effect."},
		{"idempotencyKey", StringArg, false, "At most 128 characters. Repeat a call with the same key after a lost reply: it is answered again, not sent again."},
	}
	return []VerbSpec{
		{Register, []ArgSpec{
			{"actorId", StringArg, true, "Display name. Not an identity: the reply's ref is."},
			{"kind", StringArg, false, "What you are, such as claude-code or codex."},
			{"capabilities", StringsArg, false, "Declarations such as cwd=… and branch=…; reported, never consulted."},
			{"ref", StringArg, false, "Your act-NNNN from an earlier registration, to update it in place."},
		}},
		{Send, append([]ArgSpec{
			{"from", StringArg, true, "Your ref, or your name where nobody shares it."},
			{"to", StringArg, true, "The addressee's ref, or name where nobody shares it."},
			{"text", StringArg, true, "The body: untrusted text for its reader."},
			{"kind", StringArg, false, "note unless told; such as request or report."},
		}, common...)},
		{Inbox, []ArgSpec{
			{"actorId", StringArg, true, "Your ref, or your name where nobody shares it."},
			{"after", StringArg, false, "A messageId: show what waits after it (the reply's next)."},
		}},
		{Ack, []ArgSpec{
			{"actorId", StringArg, true, "Your ref, or your name where nobody shares it."},
			{"messageId", StringArg, true, "The message that you received."},
			{"note", StringArg, false, "A remark for the record."},
		}},
		{Heartbeat, []ArgSpec{
			{"actorId", StringArg, true, "Your ref, or your name where nobody shares it."},
			{"note", StringArg, false, "A remark for the record."},
		}},
		{Handoff, append([]ArgSpec{
			{"from", StringArg, true, "Your ref, or your name where nobody shares it."},
			{"to", StringArg, true, "The addressee's ref, or name where nobody shares it."},
			{"summary", StringArg, true, "What is handed over: untrusted text for its reader. It moves work, never authority."},
		}, common...)},
	}
}

func specOf(v Verb) (VerbSpec, bool) {
	for _, s := range VerbSpecs() {
		if s.Verb == v {
			return s, true
		}
	}
	return VerbSpec{}, false
}
