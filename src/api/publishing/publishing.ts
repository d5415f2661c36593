// Publish, subscribe and unsubscribe in the name of clients.

import { type publishingEndpoints, publishMessage, subscribeRequest, unsubscribeRequest } from './endpoints.ts'
import { type Shape, compileShape, type Static, type TSchema } from '../../contract/index.ts'
import { parseTopicFilter, type QoS, type TopicFilter } from '../../protocol/index.ts'
import { type Handlers, checkMisspelledKeys, refuseShape, ApiError, refuse } from '../../management/index.ts'
import {
  type ActingDependencies,
  type OperationFailure,
  publishForClient,
  type PublishReceipt,
  subscribeClient,
  unsubscribeClient,
} from './act-for-client.ts'
import { readPublication, parseTopics } from './publication.ts'

type PublishMessage = Static<typeof publishMessage>
type SubscribeRequest = Static<typeof subscribeRequest>
type UnsubscribeRequest = Static<typeof unsubscribeRequest>

/** Maximum entries of a batch in progress; others wait. */
const maxEntriesAtOnce = 64

const messageShape = { shape: compileShape(publishMessage), schema: publishMessage }
const subscribeShape = { shape: compileShape(subscribeRequest), schema: subscribeRequest }
const unsubscribeShape = { shape: compileShape(unsubscribeRequest), schema: unsubscribeRequest }

export function createPublishingHandlers(node: ActingDependencies): Handlers<typeof publishingEndpoints> {
  const publish = (message: PublishMessage): Promise<Published> => publishOne(node, message)
  const subscribe = (request: SubscribeRequest): Promise<ApiError | undefined> =>
    runWithFilters(request, (filters) =>
      subscribeClient(node, { clientId: request.clientid, filters, qos: (request.qos ?? 0) as QoS }),
    )
  const unsubscribe = (request: UnsubscribeRequest): Promise<ApiError | undefined> =>
    runWithFilters(request, (filters) => unsubscribeClient(node, request.clientid, filters))
  return {
    mqtt_publish: async ({ body }) => {
      const published = await publish(body)
      if (published instanceof ApiError) return published
      return published.receipt === undefined ? { code: 0 } : { code: 0, data: { receipt: published.receipt } }
    },
    mqtt_publish_batch: async ({ body }) => ({
      code: 0,
      data: await mapEntries(body, async (entry) => {
        const published = checkEntry(messageShape, entry) ?? (await publish(entry as PublishMessage))
        const response = { topic: readTopic(entry), ...toOutcome(published) }
        const receipt = published instanceof ApiError ? undefined : published.receipt
        return receipt === undefined ? response : { ...response, receipt }
      }),
    }),
    mqtt_subscribe: async ({ body }) => (await subscribe(body)) ?? { code: 0 },
    mqtt_subscribe_batch: async ({ body }) => ({
      code: 0,
      data: await mapEntries(body, async (entry) =>
        toSubscribedEntry(entry, checkEntry(subscribeShape, entry) ?? (await subscribe(entry as SubscribeRequest))),
      ),
    }),
    mqtt_unsubscribe: async ({ body }) => (await unsubscribe(body)) ?? { code: 0 },
    mqtt_unsubscribe_batch: async ({ body }) => ({
      code: 0,
      data: await mapEntries(body, async (entry) =>
        toSubscribedEntry(
          entry,
          checkEntry(unsubscribeShape, entry) ?? (await unsubscribe(entry as UnsubscribeRequest)),
        ),
      ),
    }),
  }
}

type Published = { readonly receipt: PublishReceipt | undefined } | ApiError

async function publishOne(node: ActingDependencies, message: PublishMessage): Promise<Published> {
  const publication = readPublication(message)
  if (publication instanceof ApiError) return publication
  const published = await publishForClient(node, publication)
  return 'why' in published ? refuseFailure(published) : published
}

async function runWithFilters(
  request: { readonly topic?: string; readonly topics?: string; readonly clientid: string },
  carryOut: (filters: readonly TopicFilter[]) => Promise<OperationFailure | undefined>,
): Promise<ApiError | undefined> {
  const topics = parseTopics(request)
  if (topics instanceof ApiError) return topics
  const filters: TopicFilter[] = []
  for (const topic of topics) {
    const filter = parseTopicFilter(topic)
    if (filter === undefined) return refuse('invalidTopic', `"${topic}" is not a topic filter`)
    filters.push(filter)
  }
  const failure = await carryOut(filters)
  return failure === undefined ? undefined : refuseFailure(failure)
}

export function refuseFailure({ why }: OperationFailure): ApiError {
  switch (why) {
    case 'no-such-client':
      return refuse('clientOffline', 'no client with this client ID is connected, and no session exists for it')
    case 'invalid-topic':
      return refuse(
        'invalidTopic',
        'invalid topic: it is empty, has wildcards where none are allowed, exceeds mqtt.max_topic_length or mqtt.max_topic_levels, or ' +
          'is reserved: only the broker publishes below $SYS/, $event/, $events/, $bridge/ and $bridges/',
      )
    case 'too-large':
      return refuse('invalidParameter', 'the message is too large: the maximum is mqtt.max_packet_size')
    case 'not-available':
      return refuse(
        'invalidParameter',
        'the configuration disables the feature that this request needs; see the section mqtt of the settings',
      )
    case 'quota-exceeded':
      return refuse(
        'invalidParameter',
        'the client has reached a limit of its subscriptions (mqtt.max_subscriptions and the following), or another client has this exclusive subscription',
      )
    case 'not-allowed':
      return refuse('invalidParameter', 'the broker denies this request')
    case 'storage-failing':
      return refuse(
        'unknownError',
        'writing to the disk fails: the message may not be stored; try again when the alarm storage has ended',
      )
    case 'receiver-full':
      return refuse(
        'unknownError',
        'the queue of a subscribed session is full, or there are delayed.max_delayed_messages delayed messages; try again later',
      )
    case 'shard-behind':
      return refuse('unknownError', 'a shard with subscribers of this topic is overloaded; try again later')
    case 'no-response':
      return refuse('rpcError', 'a shard did not respond in time; try again')
    default:
      return why satisfies never
  }
}

/** In order, a limited number at a time. */
async function mapEntries<Result>(
  entries: readonly unknown[],
  one: (entry: unknown) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let at = 0; at < entries.length; at += maxEntriesAtOnce) {
    results.push(...(await Promise.all(entries.slice(at, at + maxEntriesAtOnce).map(one))))
  }
  return results
}

function checkEntry({ shape, schema }: EntryShape, entry: unknown): ApiError | undefined {
  const misspelled = checkMisspelledKeys(schema, entry, 'entry')
  if (misspelled !== undefined) return misspelled
  const fault = shape.findFault(entry)
  return fault === undefined ? undefined : refuseShape('entry', fault)
}

interface EntryShape {
  readonly shape: Shape
  readonly schema: TSchema
}

function toOutcome(result: unknown): { code: number; message?: string } {
  return result instanceof ApiError ? { code: result.code, message: result.message } : { code: 0 }
}

function toSubscribedEntry(
  entry: unknown,
  result: ApiError | undefined,
): { clientid: string; topic: string; code: number; message?: string } {
  return { clientid: readText(entry, 'clientid') ?? '', topic: readTopic(entry), ...toOutcome(result) }
}

/** Returns the topic as the client sent it. */
function readTopic(entry: unknown): string {
  return readText(entry, 'topics') ?? readText(entry, 'topic') ?? ''
}

function readText(entry: unknown, key: string): string | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const value = (entry as Record<string, unknown>)[key]
  return typeof value === 'string' ? value : undefined
}
