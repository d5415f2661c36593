// Parts of a node that an operator for Kubernetes uses: it is drained before it stops, and applies files that the operator replaces.

import {
  type AuditLog,
  type ConfigManager,
  type ListenerManager,
  NodeDrain,
  readListenerCertificates,
  reloadWithAudit,
  type ShardSupervisor,
  WatchedFiles,
} from '../node/index.ts'
import type { Logger } from '../telemetry/index.ts'
import type { NodeOptions } from './running-node.ts'

export interface OperatedParts {
  readonly drain: NodeDrain
  readonly watchedFiles: WatchedFiles
}

export interface OperatedNode {
  readonly supervisor: ShardSupervisor
  readonly configuration: ConfigManager
  readonly audit: AuditLog
  readonly live: ListenerManager
  readonly log: Logger
  reloadFiles(): void
}

export function createOperatedParts({ sources }: NodeOptions, node: OperatedNode): OperatedParts {
  const { supervisor, configuration, audit, live, log } = node
  const watchedFiles = new WatchedFiles({
    file: sources?.dependencies.file,
    log,
    isOn: () => configuration.config.http.operatorKeyText !== undefined,
    readConfig: () => configuration.config,
    reload: () => {
      node.reloadFiles()
      return reloadWithAudit(configuration, audit, 'file')
    },
    findFileProblems: () =>
      new Map(
        readListenerCertificates(live.addresses).flatMap(({ file, problem }) =>
          problem === undefined ? [] : [[file, problem]],
        ),
      ),
  })
  return { drain: new NodeDrain({ supervisor, log }), watchedFiles }
}

export function stopOperatedParts({ drain, watchedFiles }: OperatedParts): void {
  drain.stop()
  watchedFiles.stop()
}
