// Secrets within URLs: user names and passwords (http://user:pw@host), values of the query, and tokens in the paths of well-known services.
// Every value of a query is a secret unless its name is known to be of something else. Texts that are shown have a mask in the place of a
// secret. A masked text that is sent back keeps the stored secrets.

import { mask } from './mask.ts'

interface UrlSecret {
  /** What the secret is: the user information, the name of a value of the query, or a token of a path. */
  readonly name: string
  readonly text: string
  /** Position of the text. */
  readonly start: number
}

/**
 * The user information of a URL ends at the last @ before its path. In addition, a quoted text without a scheme, such as
 * "user:pw@host:1883".
 */
const userInfo =
  /(?<=\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#]+(?=@)|(?<=^|")(?:[^\s"@/:?#${}]+:[^\s"@/]+|\*{6})(?=@[\w.[\]:-]+(?:"|$))/giu
/** A value of a query. The name may be percent-encoded. */
const queryValue = /(?<=[?&;](?<name>[^\s=&;?#"'\\]{1,100})=)[^\s&;#"'\\]+/giu
/**
 * Tokens in paths: /bot123:TOKEN (Telegram), /services/T0/B0/TOKEN (Slack), /webhooks/1/TOKEN (Discord), /webhookb2/... and /IncomingWebhook/...
 * (Microsoft Teams). Other paths do not tell which part is a secret.
 */
const pathToken =
  /(?<=\/bot\d{1,20}:|\/services\/T\w{1,20}\/B\w{1,20}\/|\/webhooks\/\d{1,20}\/|\/webhookb2\/|\/IncomingWebhook\/)(?:[\w-][\w@/-]{9,}|\*{6})/giu
const pathMarks = ['/bot', '/services/', '/webhook', '/IncomingWebhook/']
/** Names of values that are secrets, such as X-Amz-Signature, sig, api_key, access_token and the p of InfluxDB. */
const secretName =
  /pass|pwd|secret|token|key|sig|auth|cred|session|jwt|bearer|hash|hmac|salt|private|cookie|code|otp|^(?:p|pw|k|t|s|sas|se|st|sp|sv|sr|pin|id_?t)$/iu
/** Names of values that are no secrets. A value that looks like a secret is masked all the same. */
const harmlessName =
  /^(?:_?(?:match_)?topic|client_?id|qos|retain|namespace|node|page|limit|offset|sort|order|format|precision|db|database|bucket|org|collection|index|pipeline|refresh|version|v|api[-_]version|lang|charset|encoding|timezone|tz|ssl|tls|ssl_?mode|.*timeout(?:_?ms)?|retry_?writes|replica_?set|w|from|to|since|until|x-amz-(?:date|expires|algorithm|signedheaders))$/iu
const harmlessValue = /^(?:true|false)$/iu
/** A placeholder, which is replaced by a value of a message. */
const placeholder = /^\$\{[^}]*\}$/u
/** A value that looks like a secret whatever its name is: long, with letters and digits. */
const secretValue = /^(?=.*[a-z])(?=.*\d)[\w~.+/%=-]{20,}$/iu

/** Returns the text with masks in the place of secrets of URLs. */
export function maskUrlSecrets(text: string): string {
  // Most texts have no URL.
  if (!text.includes('@') && !text.includes('=') && !pathMarks.some((part) => text.includes(part))) return text
  let shown = ''
  let end = 0
  for (const secret of findUrlSecrets(text)) {
    shown += text.slice(end, secret.start) + mask
    end = secret.start + secret.text.length
  }
  return shown + text.slice(end)
}

/** Returns whether a secret of a URL is a mask. */
export function hasMaskedUrl(text: string): boolean {
  return text.includes(mask) && findUrlSecrets(text).some((secret) => secret.text === mask)
}

/** Replaces masks in URLs of `sent` by the secrets of `stored` with the same names. Masks without one remain. */
export function restoreUrlSecrets(sent: string, stored: string): string {
  if (!hasMaskedUrl(sent)) return sent
  if (maskUrlSecrets(stored) === sent) return stored
  const known = Map.groupBy(findUrlSecrets(stored), ({ name }) => name)
  let restored = ''
  let end = 0
  for (const { name, text, start } of findUrlSecrets(sent)) {
    const secret = text === mask ? known.get(name)?.shift() : undefined
    restored += sent.slice(end, start) + (secret?.text ?? text)
    end = start + text.length
  }
  return restored + sent.slice(end)
}

function findUrlSecrets(text: string): readonly UrlSecret[] {
  const users = [...text.matchAll(userInfo)].map((match) => ({ name: '@', text: match[0], start: match.index }))
  const isInQuery = createQueryFinder(text)
  const values = [...text.matchAll(queryValue)].flatMap((match) => {
    const name = decodeName(match.groups?.['name'] ?? '')
    if (placeholder.test(match[0])) return []
    return isSecretValue(name, match[0]) || (isInQuery(match.index) && !isHarmless(name, match[0]))
      ? [{ name: `=${name}`, text: match[0], start: match.index }]
      : []
  })
  const tokens = [...text.matchAll(pathToken)].map((match) => ({ name: '/', text: match[0], start: match.index }))
  // A user information may contain /, ? or & only percent-encoded, so the kinds do not overlap.
  return [...users, ...tokens, ...values].toSorted((one, other) => one.start - other.start)
}

function isSecretValue(name: string, value: string): boolean {
  return secretName.test(name) || secretValue.test(value) || value === mask
}

function isHarmless(name: string, value: string): boolean {
  return harmlessName.test(name) || harmlessValue.test(value)
}

/**
 * Returns a function that tells whether a position is in a query. Positions must ascend, so that each character is read once. In a text that
 * is no query, such as `a;b=c` in SQL, only names and values of secrets count.
 */
function createQueryFinder(text: string): (position: number) => boolean {
  let at = 0
  let isInside = false
  return (position) => {
    for (; at < position; at++) {
      const character = text[at]
      if (character === '?') isInside = true
      else if (isInside && /[\s"']/u.test(character)) isInside = false
    }
    return isInside
  }
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
