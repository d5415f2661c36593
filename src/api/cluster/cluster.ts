// The cluster as this node knows it.

import type { ReplyOf, RequestOf } from '../../contract/index.ts'
import type { MembershipCommand } from '../../cluster/index.ts'
import { type ApiError, type Handlers, refuseFor } from '../../management/index.ts'
import type { ClusterFacts } from '../../node/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import type { clusterEndpoints } from './endpoints.ts'

type Known = typeof clusterEndpoints
type Status = ReplyOf<Known['cluster_status']>['data']

export function createClusterHandlers({
  cluster,
  nodeName,
}: Pick<ApiContext, 'cluster' | 'nodeName'>): Handlers<Known> {
  return {
    cluster_status: (): ReplyOf<Known['cluster_status']> | ApiError => {
      const facts = cluster?.describe()
      return facts === undefined ? refuseAlone() : { code: 0, data: toStatus(facts, nodeName) }
    },
    run_cluster_command: async ({ body }) => {
      if (cluster === undefined) return refuseAlone()
      const command = toCommand(body)
      if (command === undefined) return refuseFor('BAD_REQUEST', `${body.command} needs ${neededFields[body.command]}`)
      const problem = await cluster.runCommand(command)
      return problem === undefined ? { code: 0 as const } : refuseFor('CONFLICT', problem)
    },
  }
}

function refuseAlone(): ApiError {
  return refuseFor('NOT_FOUND', 'this node is not part of a cluster: cluster.enable is false')
}

type CommandBody = RequestOf<Known['run_cluster_command']>['body']

const neededFields = { evacuate: 'node', rebalance: 'nothing', expire: 'life', 'accept-loss': 'shard' } as const

/** Returns undefined if the field that the command needs is missing. */
function toCommand({ command, node, end = false, life, shard }: CommandBody): MembershipCommand | undefined {
  switch (command) {
    case 'evacuate':
      return node === undefined ? undefined : { kind: command, node, isEvacuated: !end }
    case 'rebalance':
      return { kind: command }
    case 'expire':
      return life === undefined ? undefined : { kind: command, life }
    case 'accept-loss':
      return shard === undefined ? undefined : { kind: command, shard }
    default:
      return command satisfies never
  }
}

function toStatus({ membership, databases, links }: ClusterFacts, nodeName: string): Status {
  const { life, hasLease, server, nodes, shards, stalls } = membership
  return {
    node: nodeName,
    lease: hasLease,
    nodes: nodes.map((node) => {
      const link = links.get(node.name)
      return {
        name: node.name,
        life: node.life,
        role: node.role,
        address: node.address,
        state: node.state,
        lease: node.hasLease,
        reached: node.isReached,
        link: node.life === life ? 'own' : link?.isOpen === true ? 'open' : 'closed',
        link_failure: link?.lastFailure ?? null,
        seen_ms: Math.round(node.seenAgeMs),
        shards: shards.filter(({ home }) => home === node.name).length,
      }
    }),
    shards: shards.map(({ shard, home, epoch, state, failures }) => ({
      shard,
      home: home ?? null,
      epoch,
      state,
      failures,
    })),
    databases: databases.map((address, database) => ({
      database,
      address,
      // The membership uses the first one.
      system_identifier: database === 0 ? (server?.systemIdentifier ?? null) : null,
      timeline: database === 0 ? (server?.timeline ?? null) : null,
    })),
    stalls: stalls.map(({ kind, subject, sinceMs, reason, remedy }) => ({
      kind,
      subject,
      since_ms: sinceMs === undefined ? null : Math.round(sinceMs),
      reason,
      remedy,
    })),
  }
}
