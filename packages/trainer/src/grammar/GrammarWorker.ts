/**
 * Worker thread that compiles grammars and computes token masks, in message order; library calls are synchronous and
 * may take minutes. After a failed compilation the library's instance is unusable (it aborts), and the owner ends the
 * thread.
 */
import { parentPort, workerData } from "node:worker_threads"
import type { Order, Reply, Setup } from "./GrammarThread.ts"
import * as Vocabulary from "./Vocabulary.ts"
import * as XGrammar from "./XGrammar.ts"

/** Max number of compiled grammars. */
const max = 64

const open = async ({ size, vocabulary }: Setup) => {
  const library = XGrammar.load()
  if (library === undefined) throw new Error(XGrammar.missing)
  const tokens = Vocabulary.tokens(vocabulary, size)
  const info = await library.TokenizerInfo.createTokenizerInfo(tokens, vocabulary.kind, false, size, [])
  return { library, compiler: await library.GrammarCompiler.createGrammarCompiler(info, true) }
}

const port = parentPort
if (port !== null) {
  // The owner started this thread with it.
  const opened = open(workerData as Setup)
  const grammars = new Map<string, XGrammar.Compiled>()
  const matchers = new Map<number, XGrammar.Matcher>()
  const post = (reply: Reply) => port.postMessage(reply)
  const postMask = async (id: number, position: number, matcher: XGrammar.Matcher) =>
    post({ _tag: "Mask", id, position, mask: await matcher.getNextTokenBitmask() })

  const carryOut = async (order: Order) => {
    const { compiler, library } = await opened
    switch (order._tag) {
      case "Compile": {
        const compiled = await compiler.compileGrammar(await library.Grammar.fromEBNF(order.grammar))
        const [oldest] = grammars
        if (grammars.size >= max && oldest !== undefined) {
          grammars.delete(oldest[0])
          post({ _tag: "Forgot", grammar: oldest[0] })
          oldest[1].dispose()
        }
        grammars.set(order.grammar, compiled)
        return post({ _tag: "Compiled", id: order.id })
      }
      case "Match": {
        const matcher = await library.GrammarMatcher.createGrammarMatcher(grammars.get(order.grammar), order.ends)
        matchers.set(order.id, matcher)
        return postMask(order.id, 0, matcher)
      }
      case "Accept": {
        const matcher = matchers.get(order.id)
        if (matcher === undefined) return
        matcher.acceptToken(order.token)
        // Nothing follows the end, but the order is done.
        if (!matcher.isTerminated()) return postMask(order.id, order.position, matcher)
        return post({ _tag: "Mask", id: order.id, position: order.position, mask: new Int32Array() })
      }
      case "Dispose":
        matchers.get(order.id)?.dispose()
        matchers.delete(order.id)
    }
  }

  let last = Promise.resolve()
  port.on("message", (order: Order) => {
    last = last.then(() =>
      carryOut(order).catch((cause: unknown) =>
        post({ _tag: "Failed", message: cause instanceof Error ? cause.message : String(cause) })
      )
    )
  })
}
