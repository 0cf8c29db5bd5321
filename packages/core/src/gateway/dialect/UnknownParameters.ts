/**
 * Decides about parameters that a dialect does not read. One that changes what is sampled, or what the model is shown,
 * on some server is refused, as is a known one with another spelling: silence would train on answers that were asked
 * for differently. Any other is ignored and counted, because clients add parameters that ask for nothing every month,
 * and so is one whose value asks for what happens anyway (`ignore_eos: false`).
 */

const ofServer = "set it on the inference server"
const unread = "this API does not have it"

/** Parameters of OpenAI's and Anthropic's APIs, vLLM, SGLang, llama.cpp and TGI that change an answer. */
const changing: ReadonlyMap<string, string> = new Map(
  Object.entries({
    // The prompt.
    [ofServer]:
      "add_generation_prompt add_special_tokens chat_template chat_template_kwargs continue_final_message documents " +
      "echo enable_thinking mm_processor_kwargs reasoning_format template thinking_budget thinking_token_budget " +
      "truncate truncate_prompt_tokens",
    // The choice of tokens.
    [unread]:
      "allowed_token_ids bad_words best_of custom_logit_processor custom_params do_sample dry_allowed_length dry_base " +
      "dry_multiplier dry_penalty_last_n dry_sequence_breakers dynatemp_exponent dynatemp_range ebnf epsilon_cutoff " +
      "eta_cutoff frequency_penalty grammar guided_choice guided_decoding guided_grammar guided_json guided_regex " +
      "ignore_eos json_schema length_penalty logit_bias logits_processors lora_adapter lora_path max_completion_tokens " +
      "max_new_tokens max_output_tokens max_tokens min_length min_new_tokens min_p min_tokens mirostat mirostat_eta " +
      "mirostat_tau n n_predict no_repeat_ngram_size num_beams num_predict penalty_alpha presence_penalty regex " +
      "repeat_last_n repeat_penalty repetition_penalty response_format sampling_seed seed stop stop_regex " +
      "stop_sequences stop_token_ids structured_outputs temperature tfs top_a top_k top_n_sigma top_p typical_p " +
      "use_beam_search xtc_probability xtc_threshold",
    // The text of the answer.
    "the text of an answer is that of its tokens":
      "include_stop_str_in_output no_stop_trim skip_special_tokens spaces_between_special_tokens"
  }).flatMap(([reason, names]) => names.split(" ").map((name) => [name, reason] as const))
)

/** What servers do without the parameter. */
const usual: ReadonlyMap<string, ReadonlyArray<unknown>> = new Map(
  Object.entries({
    add_generation_prompt: [true],
    add_special_tokens: [false],
    best_of: [1],
    continue_final_message: [false],
    do_sample: [true],
    dry_multiplier: [0],
    dynatemp_range: [0],
    echo: [false],
    epsilon_cutoff: [0],
    eta_cutoff: [0],
    frequency_penalty: [0],
    ignore_eos: [false],
    include_stop_str_in_output: [false],
    length_penalty: [1],
    min_length: [0],
    min_new_tokens: [0],
    min_p: [0],
    min_tokens: [0],
    mirostat: [0],
    n: [1],
    no_repeat_ngram_size: [0],
    no_stop_trim: [false],
    num_beams: [1],
    penalty_alpha: [0],
    presence_penalty: [0],
    repeat_penalty: [1],
    repetition_penalty: [1],
    skip_special_tokens: [true],
    spaces_between_special_tokens: [true],
    tfs: [1],
    top_a: [0],
    top_k: [-1, 0],
    top_p: [1],
    typical_p: [1],
    use_beam_search: [false],
    xtc_probability: [0]
  })
)

/** An empty text, list or object. */
export const isEmpty = (value: unknown): boolean =>
  value === "" || (typeof value === "object" && value !== null && Object.keys(value).length === 0)

/** True if a parameter with this value asks for nothing. */
export const isUsual = (name: string, value: unknown): boolean =>
  isEmpty(value) || usual.get(name)?.includes(value) === true

const bare = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "")
const bySpelling = new Map([...changing.keys()].map((name) => [bare(name), name]))

/** Why a parameter must not be ignored, and what to do; undefined if it may be. `known`: those the dialect reads. */
export const refusal = (name: string, value: unknown, known: (name: string) => boolean): string | undefined => {
  const reason = changing.get(name)
  if (reason !== undefined && isUsual(name, value)) return undefined
  if (reason !== undefined) return `changes how answers are sampled, and is not supported; remove it: ${reason}`
  const meant = bySpelling.get(bare(name))
  if (meant === undefined) return undefined
  return known(meant) ? `is spelled ${meant}` : refusal(meant, value, known)
}
