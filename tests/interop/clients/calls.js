// What the programs share that call everything of a client in Node.js: a line for each call, as calls.py has it.
'use strict'

class Calls {
  constructor (methods, settled) {
    this.missing = new Set(methods)
    this.settled = settled
  }

  async change (name, call) {
    await this.ask(name, call)
    await this.settled()
  }

  // A call is named by its method, and by what follows a colon.
  async ask (name, call) {
    this.missing.delete(name.split(':')[0])
    let outcome = 'works'
    let text
    try {
      text = shown(await inTime(call()))
    } catch (error) {
      outcome = 'refused'
      text = failure(error)
    }
    const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t')
    console.log(['call', name, outcome, escaped].join('\t'))
  }

  tellMissing () {
    console.log(['missing', [...this.missing].sort().join(' ')].join('\t'))
  }
}

// Errors of several layers: the innermost ones say what the server answered.
function failure (error) {
  const inner = error.errors || (error.cause && [error.cause])
  const own = `!${error.name} ${error.code || error.type || error.apiId || ''}: ${error.message}`
  return inner && inner.length ? `${own} [${inner.map(failure).join(', ')}]` : own
}

function shown (value) {
  if (value === undefined || value === null) return 'null'
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Map) return shown(Object.fromEntries(value))
  if (Array.isArray(value)) return '[' + value.map(shown).sort().join(', ') + ']'
  if (typeof value === 'object') {
    return '{' + Object.keys(value).sort().map(key => `${key}: ${shown(value[key])}`).join(', ') + '}'
  }
  return JSON.stringify(value)
}

// What is never answered must not end the program, which it would once no connection is open.
async function inTime (promise) {
  let timer
  const overdue = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no result in time')), 15000)
  })
  try {
    return await Promise.race([promise, overdue])
  } finally {
    clearTimeout(timer)
  }
}

async function until (reached) {
  const end = Date.now() + 20000
  while (!(await reached())) {
    if (Date.now() > end) throw new Error('the server does not show what it acknowledged')
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}

module.exports = { Calls, until }
