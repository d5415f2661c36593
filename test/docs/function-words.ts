// Words for the test of names.

/** First words of names of functions. A verb that is missing is added here. */
export const verbs: readonly string[] = `
abandon abort accept accepts acknowledge acquire add admit adopt advance advertise alert alloc allocate allow allows
analyze anchor announce append apply archive are arrive arrives as assert assign attach attempt audit authenticate
authorize await awaits ban begin begins belongs bind bootstrap branch break broadcast buffer build cache calculate
call can cancel capture carry catch cause change check choose claim clean clear close coalesce collect combine commit
compact compare compile complain complete compress compute concat concern concerns conclude configure confirm connect
consume contains continue continues control convert copy count cover covers create cut deactivate decide declare
decode decompress decrement decrypt defer define delay delete deliver deny deploy derive describe deserialize destroy
detach detect dial did diff digest disable discard disconnect discover dispatch distribute divide do does download
drain draw drop edit emit enable encode end ends enlarge enqueue ensure enter equals escape estimate evaluate evict
exceeds exchange exclude exec execute exit expand expect expire explain export expose extract fail fall fetch fill
filter find finish fire fit fits flatten flush focus fold follow forget form format forward free from gather generate
get go goes grant group grow guard hand handle handshake has hash hide hold holds ignore implode import include
includes index inherit init insert inspect install intern interpolate intersect invalidate is isolate iterate join
judge keep kick kill label lacks launch lay leave lift limit linger link list listen load lock log look lookup lose
loses lower make manage map mark mask match matches may measure memoize merge migrate mint mirror monitor mount move
multiply must name names navigate needs negate negotiate next normalize notify observe observes offer omit on open
operate order overlap overlaps override owns pad pair park parse pass passes pause peek permit pick pin ping pipe
place plan poll post postpone prepare preserve preview print probe prompt protect prune publish push put quarantine
query queue quote raise range rank reach read reassign rebalance rebuild receive reconcile reconnect record recount
recover redeliver redistribute reduce refers refresh refuse register reindex reject rejoin relay release relieve
reload remember remove rename render renew renumber reopen reorder repair repeat replace replay reply report request
requeue require reschedule resend reserve reset resolve respond restart restore restrict resume retain retire retrieve
retry return reverse rewrite rise roll rotate round route run sample sanitize save scale scan schedule scope scrape
scroll seal search select send serialize serve set settle share shift ship shorten should show shrink shut sift sign
simulate skip sleep slice sort spawn split spool stage stagger stamp start starts stays stop store stream stringify
submit subscribe substitute subtract succeed suggest sum summarize supervise suspect suspend swap sweep switch sync
tag take takes targets test throw tick tidy to toggle tokenize touch trace track translate transmit trigger trim
truncate trust try uncount undo unescape uninstall unload unlock unmount unpack unpin unset unsubscribe untrack unwrap
update upgrade upload use uses validate verify visit wait wake walk want warn was watch will with withdraw withhold
without wrap write xor zip
`
  .trim()
  .split(/\s+/)

/**
 * Folders and files whose functions are words of a language: SQL functions, keywords of JSON Schema, types of the wire,
 * builders of settings and endpoints.
 */
export const languages: readonly string[] = [
  'lib/dtls/field-reader.ts',
  'lib/imports/mosquitto/chunk-reader.ts',
  'lib/probes/wire.ts',
  'src/backup/row-fields.ts',
  'src/cluster/links/link-frame-reader.ts',
  'src/cluster/links/link-frames.ts',
  'src/config/schema/',
  'src/contract/definition/',
  'src/deploy/resource/field-types.ts',
  'src/gateways/mqttsn/codec/',
  'src/jq/jq-functions.ts',
  'src/links/link-buffer-reader.ts',
  'src/protocol/bytes/',
  'src/rules/functions/',
  'src/schemas/json/',
  'src/schemas/model/payload-bytes.ts',
  'src/sinks/prometheus/',
  'src/storage/encoding/',
]

/** Names of JavaScript's collections, of levels of the log, and of functions that only read a value of the machine. */
export const namesOfPlatform: readonly string[] = [
  'all',
  'at',
  'byteLength',
  'debug',
  'entries',
  'error',
  'forEach',
  'handler',
  'info',
  'keys',
  'nowMs',
  'randomBelow',
  'values',
]

/** Other functions without a verb, by file. This list may only shrink. */
export const nounFunctions: Readonly<Record<string, readonly string[]>> = {
  'dashboard/src/pages/gateways.tsx': ['turn'],
  'dashboard/src/pages/service-parts.tsx': ['turn'],
  'dashboard/src/state/messages.ts': ['t'],
  'src/config/settings/listeners.ts': ['setting'],
  'src/plugins/process/plugin-metric-set.ts': ['counter', 'gauge'],
  'src/plugins/supervisor/plugin-supervisor.ts': ['states'],
  'src/gateways/coap/endpoint/coap-message.ts': ['code'],
  'src/storage/damage/crc32c.ts': ['byte', 'word'],
}

/** Parameters that say nothing about their value. */
export const vagueParameters: readonly string[] = ['how', 'who', 'what', 'more', 'of', 'given']
