// CoAP with Eclipse Californium, over DTLS with Scandium if two more words are given: identity and key (text). See ../README.md for commands and
// events.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;
import org.eclipse.californium.core.CoapClient;
import org.eclipse.californium.core.CoapHandler;
import org.eclipse.californium.core.CoapResponse;
import org.eclipse.californium.core.coap.MediaTypeRegistry;
import org.eclipse.californium.core.coap.Request;
import org.eclipse.californium.core.config.CoapConfig;
import org.eclipse.californium.core.network.CoapEndpoint;
import org.eclipse.californium.elements.config.Configuration;
import org.eclipse.californium.scandium.DTLSConnector;
import org.eclipse.californium.scandium.config.DtlsConfig;
import org.eclipse.californium.scandium.config.DtlsConnectorConfig;
import org.eclipse.californium.scandium.dtls.pskstore.AdvancedSinglePskStore;

public final class Client {
    static final int BLOCK_BYTES = 512;
    static final int MAX_BODY_BYTES = 100_000;

    static String base;
    static String clientId;
    static CoapEndpoint endpoint;
    /** null: over UDP. */
    static DTLSConnector connector;

    static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    static String textOf(byte[] payload) {
        return payload.length > 1000 ? "#" + payload.length : new String(payload, StandardCharsets.UTF_8);
    }

    static CoapClient clientOf(String topic, String more) {
        CoapClient client = new CoapClient(base + "/ps/" + topic + "?clientid=" + clientId + more);
        client.setEndpoint(endpoint);
        client.setTimeout(0L);
        return client;
    }

    /** Prints a line for each response, and another if there is none. */
    static CoapHandler handler(Consumer<CoapResponse> onResponse, String name) {
        return new CoapHandler() {
            @Override
            public void onLoad(CoapResponse response) {
                onResponse.accept(response);
            }

            @Override
            public void onError() {
                say("failed " + name);
            }
        };
    }

    static void put(String topic, String name, byte[] payload, String more) {
        Request request = Request.newPut();
        request.setConfirmable(true);
        request.setPayload(payload);
        request.getOptions().setContentFormat(MediaTypeRegistry.APPLICATION_OCTET_STREAM);
        clientOf(topic, more).advanced(handler(response -> say("done " + name + " " + codeOf(response)), name), request);
    }

    static String codeOf(CoapResponse response) {
        return response.getCode().toString().split(" ")[0];
    }

    static void observe(String topic) {
        boolean[] isObserved = {false};
        clientOf(topic, "").observe(handler(response -> {
            if (!isObserved[0]) say("observing " + topic + " " + codeOf(response));
            else say("note " + textOf(response.getPayload()));
            isObserved[0] = true;
        }, topic));
    }

    static void get(String topic) {
        clientOf(topic, "").get(handler(response -> say("value " + codeOf(response) + " " + textOf(response.getPayload())), topic));
    }

    static CoapEndpoint connect(String[] words) throws Exception {
        Configuration configuration = Configuration.createStandardWithoutFile();
        configuration.set(CoapConfig.PREFERRED_BLOCK_SIZE, BLOCK_BYTES);
        configuration.set(CoapConfig.MAX_MESSAGE_SIZE, BLOCK_BYTES);
        // By default, Californium ends requests with more than 8,192 bytes in blocks.
        configuration.set(CoapConfig.MAX_RESOURCE_BODY_SIZE, MAX_BODY_BYTES);
        CoapEndpoint.Builder builder = new CoapEndpoint.Builder().setConfiguration(configuration);
        if (words.length > 2) {
            configuration.set(DtlsConfig.DTLS_ROLE, DtlsConfig.DtlsRole.CLIENT_ONLY);
            DtlsConnectorConfig.Builder dtls = DtlsConnectorConfig.builder(configuration);
            dtls.setAdvancedPskStore(new AdvancedSinglePskStore(
                    words[2], words[3].getBytes(StandardCharsets.UTF_8)));
            connector = new DTLSConnector(dtls.build());
            builder.setConnector(connector);
        }
        CoapEndpoint built = builder.build();
        built.start();
        return built;
    }

    public static void main(String[] words) throws Exception {
        CoapConfig.register();
        DtlsConfig.register();
        base = words[0];
        clientId = words[1];
        endpoint = connect(words);
        say("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ");
            if (parts[0].equals("put")) put(parts[1], parts[2], parts[2].getBytes(StandardCharsets.UTF_8), "&qos=1");
            else if (parts[0].equals("big")) put(parts[1], "big", new byte[Integer.parseInt(parts[2])], "&qos=1&retain=true");
            else if (parts[0].equals("observe")) observe(parts[1]);
            else if (parts[0].equals("handshake")) connector.forceResumeAllSessions();
            else if (parts[0].equals("get")) get(parts[1]);
        }
        System.exit(0);
    }
}
