// Stops and restarts the broker.

import { noContent, endpoint, Type } from '../../contract/index.ts'

export const controlEndpoints = {
  ctrl_broker: endpoint({
    method: 'POST',
    path: '/ctrl/:action',
    summary: 'Stops the broker, or restarts it with the current configuration file. The response is sent first.',
    params: Type.Object({
      action: Type.String({ description: 'Action: `stop` or `restart`, in upper or lower case.' }),
    }),
    reply: noContent,
    failures: ['rpcError', 'invalidParameter'],
    otherStatuses: [['rpcError', 404]],
    access: 'change',
  }),
}
