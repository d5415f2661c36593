// Secrets within URLs are masked, nothing else is, and a masked text that is sent back has the stored secrets.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasMaskedUrl, maskUrlSecrets, restoreUrlSecrets } from '../../src/config/index.ts'
import { fc } from '../properties.ts'

const masked: readonly (readonly [text: string, shown: string])[] = [
  ['http://user:pw@host/path', 'http://******@host/path'],
  ['https://token@host:8443?a=b', 'https://******@host:8443?a=******'],
  ['http://user:p%40w@[::1]:80/', 'http://******@[::1]:80/'],
  ['http://user:p@w@host/', 'http://******@host/'],
  ['mqtt-tcp://u:p"w\\x@host:1883', 'mqtt-tcp://******@host:1883'],
  ['"user:pw@host:1883"', '"******@host:1883"'],
  ['http://host/write?db=plant&u=root&p=x', 'http://host/write?db=plant&u=******&p=******'],
  ['http://host/?token=a&api_key=b#c', 'http://host/?token=******&api_key=******#c'],
  ['http://host/?TOKEN=a&Access-Token=b&%74oken=c', 'http://host/?TOKEN=******&Access-Token=******&%74oken=******'],
  [
    'https://b.s3.amazonaws.com/k?X-Amz-Date=20260101T000000Z&X-Amz-Credential=a&X-Amz-Signature=b',
    'https://b.s3.amazonaws.com/k?X-Amz-Date=20260101T000000Z&X-Amz-Credential=******&X-Amz-Signature=******',
  ],
  ['https://a.blob.core.windows.net/c?sv=1&sig=abc', 'https://a.blob.core.windows.net/c?sv=******&sig=******'],
  ['http://host/?x=0a1b2c3d4e5f6a7b8c9d0e', 'http://host/?x=******'],
  [
    'https://api.telegram.org/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/sendMessage?chat_id=5',
    'https://api.telegram.org/bot110201543:******?chat_id=******',
  ],
  ['http://host/x?subscriber=a-1&topic=a/b&on=true', 'http://host/x?subscriber=******&topic=a/b&on=true'],
  ['see http://host/x?a;b=c and /y?e=1', 'see http://host/x?a;b=****** and /y?e=******'],
  ['http://host/x?topic=0a1b2c3d4e5f6a7b8c9d0e', 'http://host/x?topic=******'],
  ['/bot1:abcdefghijklmno', '/bot1:******'],
  ['https://hooks.slack.com/services/T00/B00/XXXXXXXXXXXX', 'https://hooks.slack.com/services/T00/B00/******'],
  ['https://discord.com/api/webhooks/12/a-bcdefghijk_l', 'https://discord.com/api/webhooks/12/******'],
  ['https://a.webhook.office.com/webhookb2/1-2@3/IncomingWebhook/4/5', 'https://a.webhook.office.com/webhookb2/******'],
  ['["ws://a/mqtt?token=x", "ws://u:p@b/"]', '["ws://a/mqtt?token=******", "ws://******@b/"]'],
  [
    'no answer from http://u:p@h/: HTTP status 404: no /x?key=y here',
    'no answer from http://******@h/: HTTP status 404: no /x?key=****** here',
  ],
]

test('user information and secret values of the query of a URL are masked', () => {
  for (const [text, shown] of masked) {
    assert.equal(maskUrlSecrets(text), shown)
    assert.equal(maskUrlSecrets(shown), shown, 'a masked text is unchanged')
    assert.equal(hasMaskedUrl(shown), true, shown)
    assert.equal(restoreUrlSecrets(shown, text), text)
  }
})

test('other texts are unchanged', () => {
  for (const text of [
    'http://host:8080/path?topic=a/b&qos=1',
    'SELECT * FROM "a/#" WHERE payload.token = 5 and x@y',
    '${clientid}@plant',
    'INSERT INTO t (a) VALUES (${a}) ON CONFLICT DO NOTHING',
    'http://host/${topic}?clientid=${clientid}&key=${payload.key}',
    '******',
    'https://host/bottles/webhooks/12/',
    'https://host/services/readings/1',
    'is it? INSERT INTO t SELECT a;b=c&d=e',
    'postgres://host/db?sslmode=require&connect_timeout=5',
  ]) {
    assert.equal(maskUrlSecrets(text), text)
    assert.equal(hasMaskedUrl(text), false)
  }
})

test('masks have the stored secrets of the same names when other parts of the URL change', () => {
  const stored = 'http://u:p@old/?token=a&key=b'
  assert.equal(
    restoreUrlSecrets('http://******@new:81/x?key=******&token=******', stored),
    'http://u:p@new:81/x?key=b&token=a',
  )
  assert.equal(restoreUrlSecrets('http://other@new/', stored), 'http://other@new/')
  const without = restoreUrlSecrets('http://******@new/?sig=******', 'http://host/')
  assert.equal(hasMaskedUrl(without), true, 'a mask without a stored secret remains, and is refused')
})

const word = fc.stringMatching(/^[A-Za-z0-9._~%!$'()*+,-]{1,20}$/)

test('no secret of any URL is shown, and each comes back', () => {
  fc.assert(
    fc.property(
      word,
      word,
      fc.constantFrom('token', 'api_key', 'X-Amz-Signature', 'password', 'p', 'x', 'subscriber', 'device-number'),
      (user, secret, name) => {
        const marker = `MARK${secret.replaceAll('%', '')}`
        const url = `https://${user}:${marker}@host/path?topic=1&${name}=${marker}`
        const shown = maskUrlSecrets(url)
        assert.ok(!shown.includes('MARK'), shown)
        assert.equal(restoreUrlSecrets(shown, url), url)
      },
    ),
  )
})
