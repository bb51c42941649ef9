module services/nats

go 1.24

require (
	github.com/nats-io/nats-server/v2 v2.15.2
	github.com/nats-io/natscli v0.5.0
)
