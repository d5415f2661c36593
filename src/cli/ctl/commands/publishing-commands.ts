// Commands that publish and subscribe in the name of clients.

import { readFile } from 'node:fs/promises'
import { type CtlCall, type CtlCommand, reportDone, type Outcome, showReply } from '../ctl-command.ts'
import { describeFileError } from '../../../telemetry/index.ts'

export const publishingCommands: readonly CtlCommand[] = [
  {
    name: 'publish',
    description: 'publish a message; returns when the message is stored',
    arguments: ['<topic>'],
    options: [
      { flags: '-m, --message <text>', description: 'payload of the message' },
      { flags: '--file <file>', description: 'file with the payload of the message' },
      { flags: '-q, --qos <level>', description: 'QoS of the message: 0, 1 or 2 (default: 0)' },
      { flags: '-r, --retain', description: 'retain the message' },
      { flags: '--client <id>', description: 'client ID of the publisher' },
      { flags: '--receipt', description: 'show to how many sessions the message was sent, queued or dropped' },
    ],
    run: publish,
  },
  {
    name: 'subscribe',
    description: 'subscribe a connected client to a topic filter',
    arguments: ['<client>', '<filter>'],
    options: [{ flags: '-q, --qos <level>', description: 'maximum QoS of the subscription: 0, 1 or 2 (default: 0)' }],
    run: ({ client, operands: [clientid = '', topic = ''], options }) => {
      const qos = parseQoS(options['qos'])
      if (qos === undefined) return { usage: badQos }
      return reportDone(
        client.mqtt_subscribe({ body: { clientid, topic, qos } }),
        `${clientid} is subscribed to ${topic}`,
      )
    },
  },
  {
    name: 'unsubscribe',
    description: 'remove a subscription of a connected client',
    arguments: ['<client>', '<filter>'],
    run: ({ client, operands: [clientid = '', topic = ''] }) =>
      reportDone(
        client.mqtt_unsubscribe({ body: { clientid, topic } }),
        `${clientid} is no longer subscribed to ${topic}`,
      ),
  },
  {
    name: 'retained list',
    description: 'list retained messages whose topics match a filter, at most 10,000',
    arguments: ['[filter]'],
    run: ({ client, operands: [topic = '#'] }) =>
      showReply(client.list_retained({ query: { topic, limit: maxRetainedRows } }), ({ data }) => ({ rows: data })),
  },
  {
    name: 'retained delete',
    description: 'delete the retained message of a topic',
    arguments: ['<topic>'],
    run: ({ client, operands: [topic = ''] }) =>
      reportDone(
        client.mqtt_publish({ body: { topic, payload: '', retain: true, qos: 1 } }),
        `nothing is retained at ${topic}`,
      ),
  },
]

const maxRetainedRows = 10_000

const badQos = '--qos: use 0, 1 or 2'

async function publish({ client, operands: [topic = ''], options }: CtlCall): Promise<Outcome> {
  const qos = parseQoS(options['qos'])
  if (qos === undefined) return { usage: badQos }
  const read = await readPayload(options)
  if (!('payload' in read)) return read
  const { client: clientid, retain, receipt } = options
  const body = {
    topic,
    // Bytes of a file need not be text.
    payload: read.payload.toString('base64'),
    encoding: 'base64',
    qos,
    retain: retain === true,
    receipt: receipt === true,
    ...(typeof clientid === 'string' ? { clientid } : {}),
  } as const
  return showReply(client.mqtt_publish({ body }), ({ data }) => {
    if (data === undefined) return { done: `published to ${topic}` }
    return { thing: data.receipt }
  })
}

async function readPayload({
  message,
  file,
}: CtlCall['options']): Promise<
  { readonly payload: Buffer } | { readonly usage: string } | { readonly problem: string }
> {
  if ((message === undefined) === (file === undefined)) return { usage: 'give either -m TEXT or --file FILE' }
  if (typeof message === 'string') return { payload: Buffer.from(message) }
  try {
    return { payload: await readFile(String(file)) }
  } catch (error) {
    return { problem: `${String(file)}: ${describeFileError(error)}` }
  }
}

function parseQoS(text: string | true | undefined): 0 | 1 | 2 | undefined {
  if (text === undefined || text === '0') return 0
  if (text === '1') return 1
  return text === '2' ? 2 : undefined
}
