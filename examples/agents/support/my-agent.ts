/** An existing agent: it contains nothing about training, and calls any model it is given. */
import OpenAI from "openai"

export interface Options {
  readonly baseURL: string
  readonly apiKey: string
  readonly model: string
  readonly signal: AbortSignal
}

export const myAgent = async (question: string, { apiKey, baseURL, model, signal }: Options): Promise<string> => {
  const client = new OpenAI({ baseURL, apiKey })
  const { choices } = await client.chat.completions.create(
    {
      model,
      messages: [
        { role: "system", content: "You answer the shop's customers in one sentence." },
        { role: "user", content: question }
      ]
    },
    { signal }
  )
  return choices[0]?.message.content ?? ""
}
