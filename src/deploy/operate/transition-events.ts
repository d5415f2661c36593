// Events of a resource: one for each condition whose status has changed.

import type { Condition } from './cluster-status.ts'

export interface TransitionEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly note: string
}

/** Conditions that are a problem when they have this status. */
const problems: Readonly<Record<string, Condition['status']>> = {
  Available: 'False',
  Degraded: 'True',
  SpecValid: 'False',
}

/** Maximum length of a note: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ */
const maxNoteCharacters = 1_000

export function listTransitions(before: readonly Condition[], after: readonly Condition[]): readonly TransitionEvent[] {
  return after.flatMap(({ type, status, reason, message }) => {
    const previous = before.find((condition) => condition.type === type)
    const isSame = previous?.status === status && (status !== 'True' || previous.reason === reason)
    if (isSame || (previous === undefined && problems[type] !== status && type !== 'Progressing')) return []
    const note = `${type}=${status}${message === '' ? '' : `: ${message}`}`
    return [{ type: problems[type] === status ? 'Warning' : 'Normal', reason, note: note.slice(0, maxNoteCharacters) }]
  })
}
