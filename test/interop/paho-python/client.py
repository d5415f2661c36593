"""MQTT with Eclipse Paho for Python. See ../README.md for commands and events."""

import sys
import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

host, port, version, client_id = sys.argv[1:5]
is_five = version == "5"


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def on_connect(client, userdata, flags, reason_code, properties):
    if not reason_code.is_failure:
        say(f"connected {int(flags.session_present)}")


def on_message(client, userdata, message):
    payload = message.payload
    text = f"#{len(payload)}" if len(payload) > 1000 else payload.decode()
    say(f"got {message.qos} {int(message.retain)} {message.topic} {text}")


subscribing = {}


def on_subscribe(client, userdata, mid, reason_codes, properties):
    say(f"subscribed {subscribing.get(mid)}")


options = {} if is_five else {"clean_session": False}
client = mqtt.Client(
    mqtt.CallbackAPIVersion.VERSION2,
    client_id=client_id,
    protocol=mqtt.MQTTv5 if is_five else mqtt.MQTTv311,
    **options,
)
client.on_connect = on_connect
client.on_message = on_message
client.on_subscribe = on_subscribe
client.max_queued_messages_set(0)
client.reconnect_delay_set(min_delay=1, max_delay=1)
client.will_set(f"will/{client_id}", "gone", qos=1)
if is_five:
    properties = Properties(PacketTypes.CONNECT)
    properties.SessionExpiryInterval = 3600
    client.connect(host, int(port), clean_start=False, properties=properties)
else:
    client.connect(host, int(port))
client.loop_start()
for line in sys.stdin:
    word, qos, *rest = line.rstrip("\n").split(" ")
    if word == "sub":
        _, mid = client.subscribe(rest[0], int(qos))
        subscribing[mid] = rest[0]
    elif word == "pub":
        client.publish(rest[1], rest[2], int(qos), rest[0] == "1")
    elif word == "big":
        client.publish(rest[0], b"x" * int(rest[1]), int(qos))
