// MQTT with Eclipse Paho for Go: paho.mqtt.golang for 3.1.1, paho.golang for 5.0. See ../README.md for commands and events.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/paho"
	"github.com/eclipse/paho.golang/paho/session"
	mqtt "github.com/eclipse/paho.mqtt.golang"
)

type client interface {
	subscribe(filter string, qos byte)
	publish(topic string, qos byte, retain bool, payload []byte)
}

var output sync.Mutex

func say(format string, values ...any) {
	output.Lock()
	defer output.Unlock()
	fmt.Printf(format+"\n", values...)
}

func got(qos byte, retain bool, topic string, payload []byte) {
	text := string(payload)
	if len(payload) > 1000 {
		text = fmt.Sprintf("#%d", len(payload))
	}
	say("got %d %d %s %s", qos, number(retain), topic, text)
}

func number(value bool) int {
	if value {
		return 1
	}
	return 0
}

type old struct{ mqtt mqtt.Client }

func connectOld(host, port, clientID string) client {
	options := mqtt.NewClientOptions().AddBroker("tcp://" + host + ":" + port).SetClientID(clientID)
	options.SetCleanSession(false).SetAutoReconnect(true).SetConnectRetry(true).SetOrderMatters(true)
	options.SetMaxReconnectInterval(200 * time.Millisecond).SetConnectRetryInterval(100 * time.Millisecond)
	options.SetWill("will/"+clientID, "gone", 1, false)
	options.SetDefaultPublishHandler(func(_ mqtt.Client, message mqtt.Message) {
		got(message.Qos(), message.Retained(), message.Topic(), message.Payload())
	})
	options.SetOnConnectHandler(func(mqtt.Client) { say("connected 0") })
	made := mqtt.NewClient(options)
	made.Connect()
	return &old{made}
}

func (one *old) subscribe(filter string, qos byte) {
	token := one.mqtt.Subscribe(filter, qos, nil)
	go func() {
		token.Wait()
		say("subscribed %s", filter)
	}()
}

func (one *old) publish(topic string, qos byte, retain bool, payload []byte) {
	one.mqtt.Publish(topic, qos, retain, payload)
}

type recent struct {
	manager *autopaho.ConnectionManager
	queue   chan *paho.Publish
}

func connectRecent(host, port, clientID string) client {
	address, _ := url.Parse("mqtt://" + host + ":" + port)
	configuration := autopaho.ClientConfig{
		ServerUrls:                    []*url.URL{address},
		KeepAlive:                     30,
		CleanStartOnInitialConnection: false,
		SessionExpiryInterval:         3600,
		ReconnectBackoff:              func(int) time.Duration { return 100 * time.Millisecond },
		OnConnectionUp: func(_ *autopaho.ConnectionManager, connack *paho.Connack) {
			say("connected %d", number(connack.SessionPresent))
		},
		WillMessage: &paho.WillMessage{Topic: "will/" + clientID, Payload: []byte("gone"), QoS: 1},
		ClientConfig: paho.ClientConfig{
			ClientID: clientID,
			OnPublishReceived: []func(paho.PublishReceived) (bool, error){
				func(received paho.PublishReceived) (bool, error) {
					packet := received.Packet
					got(packet.QoS, packet.Retain, packet.Topic, packet.Payload)
					return true, nil
				},
			},
		},
	}
	manager, err := autopaho.NewConnection(context.Background(), configuration)
	if err != nil {
		panic(err)
	}
	made := &recent{manager, make(chan *paho.Publish, 100000)}
	go made.run()
	return made
}

// One publication after the other. The session sends a stored one again by itself.
func (one *recent) run() {
	for packet := range one.queue {
		for {
			_ = one.manager.AwaitConnection(context.Background())
			_, err := one.manager.Publish(context.Background(), packet)
			if err == nil || errors.Is(err, paho.ErrNetworkErrorAfterStored) || errors.Is(err, session.ErrPacketIdentifiersExhausted) {
				break
			}
		}
	}
}

func (one *recent) subscribe(filter string, qos byte) {
	go func() {
		for {
			_ = one.manager.AwaitConnection(context.Background())
			packet := &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: filter, QoS: qos}}}
			if _, err := one.manager.Subscribe(context.Background(), packet); err == nil {
				say("subscribed %s", filter)
				return
			}
		}
	}()
}

func (one *recent) publish(topic string, qos byte, retain bool, payload []byte) {
	one.queue <- &paho.Publish{Topic: topic, QoS: qos, Retain: retain, Payload: payload}
}

func main() {
	host, port, version, clientID := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	var made client
	if version == "5" {
		made = connectRecent(host, port, clientID)
	} else {
		made = connectOld(host, port, clientID)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Split(lines.Text(), " ")
		level, _ := strconv.Atoi(words[1])
		qos := byte(level)
		switch words[0] {
		case "sub":
			made.subscribe(words[2], qos)
		case "pub":
			made.publish(words[3], qos, words[2] == "1", []byte(words[4]))
		case "big":
			size, _ := strconv.Atoi(words[3])
			made.publish(words[2], qos, false, bytes.Repeat([]byte("x"), size))
		}
	}
}
