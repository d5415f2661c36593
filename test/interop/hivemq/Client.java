// MQTT with HiveMQ's client for Java. See ../README.md for commands and events.

import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt3.Mqtt3AsyncClient;
import com.hivemq.client.mqtt.mqtt5.Mqtt5AsyncClient;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

public final class Client {
    private interface Connection {
        void subscribe(String filter, MqttQos qos);

        void publish(String topic, MqttQos qos, boolean retain, byte[] payload);
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void got(MqttQos qos, boolean retain, String topic, byte[] payload) {
        String text = payload.length > 1000 ? "#" + payload.length : new String(payload, StandardCharsets.UTF_8);
        say("got " + qos.getCode() + " " + (retain ? 1 : 0) + " " + topic + " " + text);
    }

    private static Connection connect3(String host, int port, String clientId) {
        Mqtt3AsyncClient client = MqttClient.builder().useMqttVersion3().identifier(clientId).serverHost(host)
                .serverPort(port).automaticReconnect().initialDelay(100, TimeUnit.MILLISECONDS)
                .maxDelay(300, TimeUnit.MILLISECONDS).applyAutomaticReconnect()
                .addConnectedListener(context -> say("connected 0"))
                .willPublish().topic("will/" + clientId).payload("gone".getBytes()).qos(MqttQos.AT_LEAST_ONCE).applyWillPublish()
                .buildAsync();
        client.publishes(MqttGlobalPublishFilter.ALL, one -> got(one.getQos(), one.isRetain(), one.getTopic().toString(), one.getPayloadAsBytes()));
        client.connectWith().cleanSession(false).send();
        return new Connection() {
            public void subscribe(String filter, MqttQos qos) {
                client.subscribeWith().topicFilter(filter).qos(qos).send().thenRun(() -> say("subscribed " + filter));
            }

            public void publish(String topic, MqttQos qos, boolean retain, byte[] payload) {
                client.publishWith().topic(topic).qos(qos).retain(retain).payload(payload).send();
            }
        };
    }

    private static Connection connect5(String host, int port, String clientId) {
        Mqtt5AsyncClient client = MqttClient.builder().useMqttVersion5().identifier(clientId).serverHost(host)
                .serverPort(port).automaticReconnect().initialDelay(100, TimeUnit.MILLISECONDS)
                .maxDelay(300, TimeUnit.MILLISECONDS).applyAutomaticReconnect()
                .addConnectedListener(context -> say("connected 0"))
                .willPublish().topic("will/" + clientId).payload("gone".getBytes()).qos(MqttQos.AT_LEAST_ONCE).applyWillPublish()
                .buildAsync();
        client.publishes(MqttGlobalPublishFilter.ALL, one -> got(one.getQos(), one.isRetain(), one.getTopic().toString(), one.getPayloadAsBytes()));
        client.connectWith().cleanStart(false).sessionExpiryInterval(3600).send();
        return new Connection() {
            public void subscribe(String filter, MqttQos qos) {
                client.subscribeWith().topicFilter(filter).qos(qos).send().thenRun(() -> say("subscribed " + filter));
            }

            public void publish(String topic, MqttQos qos, boolean retain, byte[] payload) {
                client.publishWith().topic(topic).qos(qos).retain(retain).payload(payload).send();
            }
        };
    }

    public static void main(String[] words) throws Exception {
        int port = Integer.parseInt(words[1]);
        Connection connection = words[2].equals("5") ? connect5(words[0], port, words[3]) : connect3(words[0], port, words[3]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ");
            MqttQos qos = MqttQos.fromCode(Integer.parseInt(parts[1]));
            if (parts[0].equals("sub")) connection.subscribe(parts[2], qos);
            if (parts[0].equals("pub")) connection.publish(parts[3], qos, parts[2].equals("1"), parts[4].getBytes());
            if (parts[0].equals("big")) {
                byte[] payload = new byte[Integer.parseInt(parts[3])];
                Arrays.fill(payload, (byte) 'x');
                connection.publish(parts[2], qos, false, payload);
            }
        }
        System.exit(0);
    }
}
