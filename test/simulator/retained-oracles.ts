// Checks the retained messages that the probes on all shards received.

import { commonTopic } from './scenario-clients.ts'
import type { History } from './history.ts'
import { probesOf } from './probes.ts'
import type { Client, Publication } from './world.ts'

/** A new subscriber receives the last retained message, or none if that was deleted. */
export function checkRetained(history: History): void {
  for (const { client } of history.actors) {
    const topic = `state/${client.id}`
    const sent = client.publications.filter((publication) => publication.topic === topic && publication.timesSent > 0)
    const lastKept = sent.findLastIndex((publication) => publication.isAcknowledged && history.wasAccepted(publication))
    const allowed = new Set(sent.slice(Math.max(0, lastKept)).map((publication) => publication.payload.toString()))
    if (lastKept < 0) allowed.add('')
    // A message that is sent again is a new one, which may follow a QoS 2 message that was accepted meanwhile.
    const late = sent.filter((publication) => history.mayComeLate(publication))
    for (const { payload } of late) allowed.add(payload.toString())
    // An expired message is deleted, although nothing replaces it.
    const last = [...sent.slice(Math.max(0, lastKept)), ...late]
    if (last.some((publication) => history.hasExpired(publication))) allowed.add('')
    if (history.mayNotRetain(client.id, topic)) allowed.clear()
    if (history.mayNotRetain(client.id, topic)) allowed.add('')
    for (const probe of probesOf(history.world)) checkFound(history, probe, { topic, allowed })
  }
}

function checkFound(
  history: History,
  probe: Client,
  { topic, allowed }: { topic: string; allowed: ReadonlySet<string> },
): void {
  const found = foundBy(probe, topic)
  if (allowed.has(found)) return
  const expected = [...allowed].map((payload) => `"${payload.trim()}"`).join(' or ')
  history.fail(`the retained message of ${topic} is "${found.trim()}" to ${probe.id} and should be ${expected}`)
}

/**
 * Several clients publish to one topic: all shards have the same message, and none that had certainly ended before the last
 * acknowledged one began.
 */
export function checkCommonState(history: History): void {
  const sent = history.publications.filter(({ topic, timesSent }) => topic === commonTopic && timesSent > 0)
  if (sent.length === 0) return
  const counted = sent.filter((one) => one.qos > 0 && one.isAcknowledged && history.wasAccepted(one))
  const allowed = new Set<string>()
  if (counted.length === 0) allowed.add('')
  for (const publication of sent) {
    if (history.wasForbidden(publication) === 'always') continue
    if (counted.some((later) => isReplacedBy(history, publication, later))) continue
    const mayNotRetain = history.mayNotRetain(publication.publisher, commonTopic)
    allowed.add(mayNotRetain ? '' : publication.payload.toString())
    if (history.hasExpired(publication)) allowed.add('')
  }
  // Shards respond at different times: a message that has expired by now may still be found by some of them.
  const expired = new Set(sent.filter((one) => history.hasExpired(one)).map(({ payload }) => payload.toString()))
  const found = probesOf(history.world)
    .map((probe) => foundBy(probe, commonTopic))
    .map((payload) => (expired.has(payload) ? '' : payload))
  const [first] = found
  if (found.some((one) => one !== first))
    history.fail(`the shards have different retained messages of ${commonTopic}: "${found.join('", "')}"`)
  for (const probe of probesOf(history.world)) checkFound(history, probe, { topic: commonTopic, allowed })
}

/** The later message was sent after the acknowledgement of the other, or by the same publisher after it. */
function isReplacedBy(history: History, publication: Publication, later: Publication): boolean {
  if (later.firstSentStep > publication.acknowledgedStep) return true
  const isSameLane = later.publisher === publication.publisher && !history.mayComeLate(publication)
  return isSameLane && history.numberOf(later) > history.numberOf(publication)
}

function foundBy(probe: Client, topic: string): string {
  return probe.messages.find((message) => message.topic === topic)?.payload ?? ''
}
