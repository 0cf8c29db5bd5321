/** Reads the tokens of a Jinja template one by one; unexpected ones are errors with their line. */
import { TemplateError, type Token } from "./Lexer.ts"

export class TokenReader {
  protected readonly tokens: ReadonlyArray<Token>
  protected at = 0

  constructor(tokens: ReadonlyArray<Token>) {
    this.tokens = tokens
  }

  protected peek(ahead = 0): Token | undefined {
    return this.tokens[this.at + ahead]
  }

  protected fail(message: string): never {
    const line = (this.peek() ?? this.tokens.at(-1))?.line ?? 1
    throw new TemplateError(`${message}, line ${line} of the template`)
  }

  protected is(type: Token["type"], value?: string, ahead = 0): boolean {
    const token = this.peek(ahead)
    return token?.type === type && (value === undefined || token.value === value)
  }

  protected skip(type: Token["type"], value: string): boolean {
    const isNext = this.is(type, value)
    if (isNext) this.at++
    return isNext
  }

  protected take(type: Token["type"], value?: string): string {
    const token = this.peek()
    if (token === undefined || !this.is(type, value)) {
      return this.fail(`${value ?? `a ${type}`} is expected, not ${JSON.stringify(token?.value ?? "the end")}`)
    }
    this.at++
    return token.value
  }

  protected operator(value: string): boolean {
    return this.skip("operator", value)
  }

  protected word(value: string): boolean {
    return this.skip("name", value)
  }
}
