//! MQTT with rumqttc. See ../README.md for commands and events.

use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};

fn number(qos: &str) -> u8 {
    qos.parse().unwrap_or(0)
}

fn got(qos: u8, retain: bool, topic: &str, payload: &[u8]) {
    let text = if payload.len() > 1000 {
        format!("#{}", payload.len())
    } else {
        String::from_utf8_lossy(payload).to_string()
    };
    println!("got {} {} {} {}", qos, retain as u8, topic, text);
}

macro_rules! serve {
    ($client:expr, $qos:path) => {{
        let client = $client;
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let words: Vec<&str> = line.split(' ').collect();
            let qos = $qos(number(words[1])).unwrap();
            match words[0] {
                "sub" => client.subscribe(words[2], qos).await.unwrap(),
                "pub" => client
                    .publish(words[3], qos, words[2] == "1", words[4].as_bytes().to_vec())
                    .await
                    .unwrap(),
                "big" => client
                    .publish(words[2], qos, false, vec![b'x'; words[3].parse().unwrap()])
                    .await
                    .unwrap(),
                _ => {}
            }
        }
    }};
}

const PACKET_BYTES: usize = 2_000_000;

/// Requests wait in the program, not in the channel: after a reconnect, rumqttc sends those of the channel without regard to its maximum of
/// packets in flight, and loses messages whose packet identifiers collide (`EventLoop::clean`, `MqttState::outgoing_publish`).
const CHANNEL_REQUESTS: usize = 0;

async fn old(host: &str, port: u16, client_id: &str) {
    use rumqttc::{AsyncClient, Event, LastWill, MqttOptions, Packet, QoS};
    let mut options = MqttOptions::new(client_id, host, port);
    options.set_clean_session(false);
    options.set_max_packet_size(PACKET_BYTES, PACKET_BYTES);
    options.set_last_will(LastWill::new(format!("will/{client_id}"), "gone", QoS::AtLeastOnce, false));
    let (client, mut events) = AsyncClient::new(options, CHANNEL_REQUESTS);
    tokio::spawn(async move {
        loop {
            match events.poll().await {
                Ok(Event::Incoming(Packet::ConnAck(ack))) => println!("connected {}", ack.session_present as u8),
                Ok(Event::Incoming(Packet::SubAck(_))) => println!("subscribed"),
                Ok(Event::Incoming(Packet::Publish(p))) => got(p.qos as u8, p.retain, &p.topic, &p.payload),
                Ok(_) => {}
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    });
    serve!(client, rumqttc::qos)
}

fn qos_of_5(level: u8) -> Option<rumqttc::v5::mqttbytes::QoS> {
    rumqttc::v5::mqttbytes::qos(level)
}

async fn recent(host: &str, port: u16, client_id: &str) {
    use rumqttc::v5::mqttbytes::v5::{LastWill, Packet};
    use rumqttc::v5::mqttbytes::QoS;
    use rumqttc::v5::{AsyncClient, Event, MqttOptions};
    let mut options = MqttOptions::new(client_id, host, port);
    options.set_clean_start(false);
    options.set_session_expiry_interval(Some(3_600));
    options.set_max_packet_size(Some(PACKET_BYTES as u32));
    options.set_last_will(LastWill::new(format!("will/{client_id}"), "gone", QoS::AtLeastOnce, false, None));
    let (client, mut events) = AsyncClient::new(options, CHANNEL_REQUESTS);
    tokio::spawn(async move {
        loop {
            match events.poll().await {
                Ok(Event::Incoming(Packet::ConnAck(ack))) => println!("connected {}", ack.session_present as u8),
                Ok(Event::Incoming(Packet::SubAck(_))) => println!("subscribed"),
                Ok(Event::Incoming(Packet::Publish(p))) => {
                    got(p.qos as u8, p.retain, &String::from_utf8_lossy(&p.topic), &p.payload)
                }
                Ok(_) => {}
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    });
    serve!(client, qos_of_5)
}

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().collect();
    let port = words[2].parse().unwrap();
    if words[3] == "5" {
        recent(&words[1], port, &words[4]).await
    } else {
        old(&words[1], port, &words[4]).await
    }
}
