import { section, type ValueOf } from '../schema/setting.ts'
import { audit } from './audit.ts'
import { auth } from './auth.ts'
import { httpServer } from './http-server.ts'
import { backup } from './backup.ts'
import { bridges, sqlite } from './bridges.ts'
import { cluster } from './cluster.ts'
import { dashboard } from './dashboard.ts'
import { eventMessage } from './event-message.ts'
import { delayed } from './delayed.ts'
import { flappingDetect } from './flapping.ts'
import { listeners } from './listeners.ts'
import { log } from './log.ts'
import { mqtt, retainer } from './mqtt.ts'
import { namespaces } from './namespaces.ts'
import { limits, node, storage, sysTopics, system } from './node.ts'
import { ruleEngine } from './rule-engine.ts'
import { schemaRegistry } from './schema-registry.ts'
import { autoSubscribe, rewrite, topicMetrics } from './topics.ts'
import { gateway } from './gateways.ts'
import { markIgnored } from './ignored-settings.ts'
import { actions, connectors, sources } from './sinks/all-sinks.ts'
import { webhook } from './sinks/webhook-settings.ts'
import { modules } from './modules.ts'
import { plugins } from './plugins.ts'
import { dds, exchangeClient, forwardRules, parquet, plugin, preset, rules, vsomeip } from './rules.ts'

/** Every setting, in the order of the reference. */
export const root = markIgnored(
  section('The configuration of Godwit.', {
    node,
    cluster,
    listeners,
    mqtt,
    retainer,
    delayed,
    rewrite,
    auto_subscribe: autoSubscribe,
    topic_metrics: topicMetrics,
    limits,
    storage,
    auth,
    flapping_detect: flappingDetect,
    namespaces,
    log,
    http_server: httpServer,
    dashboard,
    sys_topics: sysTopics,
    backup,
    audit,
    bridges,
    rule_engine: ruleEngine,
    schema_registry: schemaRegistry,
    event_message: eventMessage,
    connectors,
    actions,
    sources,
    webhook,
    rules,
    preset,
    sqlite,
    system,
    plugin,
    plugins,
    modules,
    gateway,
    dds,
    forward_rules: forwardRules,
    vsomeip,
    exchange_client: exchangeClient,
    parquet,
  }),
)

/** All settings with their values, by their names in a file. */
export type SettingValues = ValueOf<typeof root>
