// The rules of each resource.

import { backupRules, restoreRules } from './backup-rules.ts'
import { brokerRules } from './broker-rules.ts'
import { listenerRules } from './listener-rules.ts'
import { clusterNameRules, otherNameRules } from './metadata-rules.ts'
import { podRules } from './pod-rules.ts'
import type { Rule, TransitionRule } from './rule.ts'
import { clusterTransitions, restoreTransitions } from './transition-rules.ts'
import { storageAndMountRules } from './volume-rules.ts'

export type ResourceSubject = 'cluster' | 'backup' | 'restore'

export const rulesBySubject: Readonly<Record<ResourceSubject, readonly Rule[]>> = {
  cluster: [...clusterNameRules, ...listenerRules, ...brokerRules, ...podRules, ...storageAndMountRules],
  backup: [...otherNameRules, ...backupRules],
  restore: [...otherNameRules, ...restoreRules],
}

export const transitionsBySubject: Readonly<Record<ResourceSubject, readonly TransitionRule[]>> = {
  cluster: clusterTransitions,
  backup: [],
  restore: restoreTransitions,
}
