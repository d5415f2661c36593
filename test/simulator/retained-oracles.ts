// What is retained when all is quiet, as the probes on all shards find it.

import { commonTopic } from './scenario-clients.ts'
import type { History } from './history.ts'
import { probesOf } from './probes.ts'
import type { Client, Publication } from './world.ts'

/** A fresh subscriber gets what was last retained, or nothing if that was taken away. */
export function checkRetained(history: History): void {
  for (const { client } of history.actors) {
    const topic = `state/${client.id}`
    const sent = client.publications.filter((publication) => publication.topic === topic && publication.timesSent > 0)
    const lastKept = sent.findLastIndex((publication) => publication.isAcknowledged && history.wasTaken(publication))
    const allowed = new Set(sent.slice(Math.max(0, lastKept)).map((publication) => publication.payload.toString()))
    if (lastKept < 0) allowed.add('')
    // Sent again it is a new message, which may follow a QoS 2 one that had been taken over meanwhile.
    const late = sent.filter((publication) => history.mayComeLate(publication))
    for (const { payload } of late) allowed.add(payload.toString())
    // What expires is gone then, though nothing takes its place.
    const last = [...sent.slice(Math.max(0, lastKept)), ...late]
    if (last.some((publication) => history.hasExpired(publication))) allowed.add('')
    if (history.isTakenBack(client.id, topic)) allowed.clear()
    if (history.isTakenBack(client.id, topic)) allowed.add('')
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
 * Several publish to one topic: all shards remember the same, and nothing that was certainly over before what was
 * acknowledged last had begun.
 */
export function checkCommonState(history: History): void {
  const sent = history.publications.filter(({ topic, timesSent }) => topic === commonTopic && timesSent > 0)
  if (sent.length === 0) return
  const counted = sent.filter((one) => one.qos > 0 && one.isAcknowledged && history.wasTaken(one))
  const allowed = new Set<string>()
  if (counted.length === 0) allowed.add('')
  for (const publication of sent) {
    if (history.wasForbidden(publication) === 'always') continue
    if (counted.some((later) => isReplacedBy(history, publication, later))) continue
    const isTakenBack = history.isTakenBack(publication.publisher, commonTopic)
    allowed.add(isTakenBack ? '' : publication.payload.toString())
    if (history.hasExpired(publication)) allowed.add('')
  }
  // They are not asked in the same moment: what has expired by now may be found by some of them.
  const expired = new Set(sent.filter((one) => history.hasExpired(one)).map(({ payload }) => payload.toString()))
  const found = probesOf(history.world)
    .map((probe) => foundBy(probe, commonTopic))
    .map((payload) => (expired.has(payload) ? '' : payload))
  const [first] = found
  if (found.some((one) => one !== first))
    history.fail(`the shards remember different messages of ${commonTopic}: "${found.join('", "')}"`)
  for (const probe of probesOf(history.world)) checkFound(history, probe, { topic: commonTopic, allowed })
}

/** The later one was begun when the other had its answer, or its publisher sent it behind the other. */
function isReplacedBy(history: History, publication: Publication, later: Publication): boolean {
  if (later.firstSentStep > publication.acknowledgedStep) return true
  const isSameLane = later.publisher === publication.publisher && !history.mayComeLate(publication)
  return isSameLane && history.numberOf(later) > history.numberOf(publication)
}

function foundBy(probe: Client, topic: string): string {
  return probe.messages.find((message) => message.topic === topic)?.payload ?? ''
}
