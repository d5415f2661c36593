import type { brokerEndpoints } from '../../contract/index.ts'
import type { Handlers } from '../handler.ts'
import type { BrokerOperations } from '../operations/brokers.ts'
import { localTime, uptimeInWords } from '../words.ts'

const sysdescr = 'Godwit MQTT broker'

export function brokerHandlers(broker: BrokerOperations): Handlers<typeof brokerEndpoints> {
  return {
    list_brokers: () => {
      const { nowMs, uptimeMs, version } = broker.describe()
      const uptime = uptimeInWords(uptimeMs)
      return { code: 0, data: [{ datetime: localTime(nowMs), node_status: 'Running', sysdescr, uptime, version }] }
    },
    list_nodes: () => {
      const { nodeName, uptimeMs, version, connections, securityProfile, shards } = broker.describe()
      const uptime = uptimeInWords(uptimeMs)
      const ours = { node: nodeName, security_profile: securityProfile, shards }
      return { code: 0, data: [{ connections, node_status: 'Running', uptime, version, ...ours }] }
    },
  }
}
