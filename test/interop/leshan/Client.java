// A LwM2M device with Eclipse Leshan: URI, endpoint name and lifetime in seconds. It prints the results of registrations and updates.

import org.eclipse.leshan.client.LeshanClient;
import org.eclipse.leshan.client.LeshanClientBuilder;
import org.eclipse.leshan.client.californium.endpoint.CaliforniumClientEndpointsProvider;
import org.eclipse.leshan.client.californium.endpoint.coap.CoapClientProtocolProvider;
import org.eclipse.leshan.client.object.Device;
import org.eclipse.leshan.client.object.Security;
import org.eclipse.leshan.client.object.Server;
import org.eclipse.leshan.client.observer.LwM2mClientObserverAdapter;
import org.eclipse.leshan.client.resource.ObjectsInitializer;
import org.eclipse.leshan.client.servers.LwM2mServer;
import org.eclipse.leshan.core.LwM2mId;
import org.eclipse.leshan.core.request.RegisterRequest;
import org.eclipse.leshan.core.request.UpdateRequest;

public final class Client {
    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    public static void main(String[] words) throws Exception {
        ObjectsInitializer objects = new ObjectsInitializer();
        objects.setInstancesForObject(LwM2mId.SECURITY, Security.noSec(words[0], 1));
        objects.setInstancesForObject(LwM2mId.SERVER, new Server(1, Long.parseLong(words[2])));
        objects.setInstancesForObject(LwM2mId.DEVICE, new Device("Leshan", "model", "serial"));
        LeshanClientBuilder builder = new LeshanClientBuilder(words[1]);
        builder.setObjects(objects.createAll());
        builder.setEndpointsProviders(new CaliforniumClientEndpointsProvider.Builder(new CoapClientProtocolProvider()).build());
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
        while (System.in.read() != -1) client.triggerRegistrationUpdate();
        client.destroy(true);
        System.exit(0);
    }
}
