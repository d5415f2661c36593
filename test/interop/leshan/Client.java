// A LwM2M device with Eclipse Leshan: URI, endpoint name, lifetime in seconds, and `queue` if it sleeps between its messages. It prints the results
// of registrations and updates. Input: `u` updates the registration, `c` changes the battery level (/3/0/9), which begins at 0.

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.leshan.client.LeshanClient;
import org.eclipse.leshan.client.LeshanClientBuilder;
import org.eclipse.leshan.client.californium.endpoint.CaliforniumClientEndpointsProvider;
import org.eclipse.leshan.client.californium.endpoint.coap.CoapClientProtocolProvider;
import org.eclipse.leshan.client.engine.DefaultRegistrationEngineFactory;
import org.eclipse.leshan.client.object.Device;
import org.eclipse.leshan.client.object.Security;
import org.eclipse.leshan.client.object.Server;
import org.eclipse.leshan.client.observer.LwM2mClientObserverAdapter;
import org.eclipse.leshan.client.resource.ObjectsInitializer;
import org.eclipse.leshan.client.servers.LwM2mServer;
import org.eclipse.leshan.core.LwM2mId;
import org.eclipse.leshan.core.model.ObjectModel;
import org.eclipse.leshan.core.request.RegisterRequest;
import org.eclipse.leshan.core.request.UpdateRequest;
import org.eclipse.leshan.core.response.ReadResponse;

public final class Client {
    static final int BATTERY_LEVEL = 9;

    /** A device whose battery level changes. */
    public static final class Powered extends Device {
        private final AtomicInteger level = new AtomicInteger();

        public Powered() {
            super("Leshan", "model", "serial");
        }

        void change() {
            level.incrementAndGet();
            fireResourceChange(BATTERY_LEVEL);
        }

        @Override
        public ReadResponse read(LwM2mServer server, int resource) {
            return resource == BATTERY_LEVEL ? ReadResponse.success(resource, level.get()) : super.read(server, resource);
        }

        @Override
        public List<Integer> getAvailableResourceIds(ObjectModel model) {
            List<Integer> resources = new ArrayList<>(super.getAvailableResourceIds(model));
            if (!resources.contains(BATTERY_LEVEL)) resources.add(BATTERY_LEVEL);
            return resources;
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    public static void main(String[] words) throws Exception {
        ObjectsInitializer objects = new ObjectsInitializer();
        objects.setInstancesForObject(LwM2mId.SECURITY, Security.noSec(words[0], 1));
        objects.setInstancesForObject(LwM2mId.SERVER, new Server(1, Long.parseLong(words[2])));
        Powered device = new Powered();
        objects.setInstancesForObject(LwM2mId.DEVICE, device);
        LeshanClientBuilder builder = new LeshanClientBuilder(words[1]);
        builder.setObjects(objects.createAll());
        builder.setEndpointsProviders(new CaliforniumClientEndpointsProvider.Builder(new CoapClientProtocolProvider()).build());
        boolean sleeps = words.length > 3 && words[3].equals("queue");
        builder.setRegistrationEngineFactory(new DefaultRegistrationEngineFactory().setQueueMode(sleeps));
        LeshanClient client = builder.build();
        client.addObserver(new LwM2mClientObserverAdapter() {
            @Override
            public void onRegistrationSuccess(LwM2mServer server, RegisterRequest request, String id) {
                say("registered " + id);
            }

            @Override
            public void onUpdateSuccess(LwM2mServer server, UpdateRequest request) {
                say("updated");
            }
        });
        client.start();
        for (int letter = System.in.read(); letter != -1; letter = System.in.read()) {
            if (letter == 'c') device.change();
            else client.triggerRegistrationUpdate();
        }
        client.destroy(true);
        System.exit(0);
    }
}
