// event_message: messages below `$event/` about clients and deliveries.

import { boolean } from '../schema/setting-type.ts'
import { appliedAtOnce, section, setting } from '../schema/setting.ts'

const createEventSetting = (subject: string, topic: string) =>
  setting(boolean, false, {
    description: `Whether ${subject} is published, as JSON at QoS 0, to the topic $event/${topic}.`,
  })

export const eventMessage = appliedAtOnce(
  section('Messages about events of clients and deliveries. Rules can use the same events: see RULES.md.', {
    client_connected: createEventSetting('each client that connects', 'client_connected'),
    client_disconnected: createEventSetting('each client that disconnects', 'client_disconnected'),
    client_subscribed: createEventSetting('each new subscription', 'client_subscribed'),
    client_unsubscribed: createEventSetting('each removed subscription', 'client_unsubscribed'),
    message_delivered: createEventSetting('each message sent to a subscriber', 'message_delivered'),
    message_acked: createEventSetting('each message of QoS 1 or 2 that a subscriber acknowledged', 'message_acked'),
    message_dropped: createEventSetting('each message without subscribers', 'message_dropped'),
  }),
)
