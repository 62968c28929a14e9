"""What is asked: the first of help, why, compare, cost, size, batch, fits, plan that applies; else out of scope."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HELP = re.compile(
    r"^\W*(?:help|examples?|usage|commands?|options|hilfe|aide|ayuda|aiuto|hulp|ajuda|beispiele?|exemples?"
    r"|ejemplos?|manual|docs|documentation)\b"
    r"|\b(?:what (?:can|do) (?:you|this|it|i) (?:do|ask|type|say|offer)|what (?:are|is) you(?:r)? (?:commands"
    r"|capabilities)|how (?:do|can|does|to) (?:i |you |we |one |this |it )?(?:use (?:you|this|it)|work(?:s)?\b"
    r"|ask)|who are you|what are you"
    r"|what (?:commands|options) (?:are|do|can)"
    r"|what (?:kinds? of |sorts? of )?(?:questions?|things) (?:can|could|may|do) (?:i|we|you)\b"
    r"|show (?:me |us )?(?:some |an? )?examples?|(?:some|give|any) (?:me )?examples?|was kannst du|que (?:sais|peux)-tu"
    r"|qu[eé] (?:puedes|sabes) hacer|cosa (?:puoi|sai) fare|how does this (?:bot )?work|need help|help me(?:$"
    r"|\W*$)|help(?:\W*please|\W*pls)?\W*$)"
)
_TRAIN = re.compile(
    r"\b(?:pre-?train\w*|train|trains|trained|training|fine[\s-]?tun\w+|lora|qlora|rlhf|sft|grpo|dpo|distil\w* (?:a"
    r"|our|[^.?!]{1,30}? into)|entrainer|entra[iî]ner|trainieren|entrenar|addestrare)\b"
)
_POLITE = (
    r"^\W*(?:(?:please|pls|plz|hey|hi|hello|ok|okay|so|bot|now|just|go ahead and|can you|could you|would you"
    r"|will you|i need you to|i want you to|you should|let'?s|kindly|bitte|bot,)\W+)*"
)
_ACTION = re.compile(
    _POLITE + r"(?:scale|deploy|re-?start|reboot|delete|stop|start(?! with)|kill|drain|shut\s?down|terminate|provision"
    r"|spin|launch|cancel|upgrade|downgrade|book|order|reserve|buy (?:me|us)|rent|migrate|roll\s?back|rollout"
    r"|evict|cordon|ssh|create|set up|install|send|post|e-?mail|remind|schedule|merge|turn (?:off|on)|page"
    r"|kubectl|helm|terraform|sudo"
    r"|execute|approve|open|file (?:a|an)|raise|ping|notify|rotate|patch|push|ship|swap|remove|clean|free up|expand"
    r"|grow|shrink|bump|upload|download|pull|clone|close|submit|request|add|tell (?!me)"
    r"|reset|move the|resize|allocate|assign|grant|revoke|run (?:the|my|our|a|this) (?:job"
    r"|script|pipeline|benchmark|test)s?|increase the|decrease the|enable|disable|pause|resume|write|translate"
    r"|summari[sz]e (?:this|the)|play|sing|draw)\b"
)
_WHY = re.compile(
    r"\b(?:why|how come|what(?:'?s| is)? (?:the )?(?:main |real |actual )?"
    r"(?:bottleneck|limiting|limits?|slowing|holding)|what (?:makes"
    r"|made) it|warum|wieso|weshalb|pourquoi|por qu[eé]|perch[eé]|waarom|porqu[eê]|explain|erkl[aä]r\w*"
    r"|explique\w*|explica\w*|what explains|reason)\b|\bpor que\b"
)
_COST = re.compile(
    r"\b(?:how much (?:for|to (?:run|rent|serve|host|operate))"
    r"|costs?|costing|how expensive|expensive|bill|bills|tco|break[\s-]?even|self[\s-]?host\w*"
    r"|pricing"
    r"|prices?|kosten|kostet|teuer|preis\w*|co[uû]t\w*|prix|cuesta\w*|costes?|precios?|costo|costa|costano"
    r"|prezzo|kost|duur|custa|custo|pre[cç]o|cheaper|g[uü]nstiger|billiger|moins cher|m[aá]s barato|spend|pay"
    r"|[$€] ?/ ?1?m\b|usd ?/ ?m\b|dollars? per|per dollar|per \$|money|savings?|api)\b|[$€£] ?(?:/|per) ?(?:1 ?)?m|\$/m"
)
_HARDWARE = (
    r"(?:§sku|gpus?|cards?|nodes?|boxe?s?|servers?|accelerators?|machines?|chips?|replicas?|karten?"
    r"|grafikkarten?|cartes?|tarjetas?|schede|scheda|kaarten|placas?|hardware|instances?|skus?|setups?|rigs?"
    r"|systems?|hgx|dgx|racks?)"
)
_HOW_MANY = (
    r"(?:how many|how much|wie ?viele?n?|wie ?viel|combien|cu[aá]nt[oa]s?|quant[iea]|hoeveel|quant[oa]s"
    r"|number of|how big|how large|# ?of)"
)
_SIZE = re.compile(
    rf"{_HOW_MANY}\W+(?:(?!users|requests|tokens|concurrent|clients|people|parallel|simultaneous|context|days"
    rf"|hours)[\w'§-]+\W+){{0,3}}?{_HARDWARE}\b|{_HOW_MANY} (?:do|would|will|should|are|is|of (?:them|those"
    r"|these)) (?:i|we|you|it|that|needed|they)\b"
    rf"|{_HOW_MANY}\W*$|(?:{_HARDWARE}) (?:count|number|quantity)\b(?!\s?[:=]?\s?[\d{{§])"
    rf"|(?:need|needed|required?) how many"
    r"|how many (?:needed|required)"
    r"|\b(?:which|what|welche[rnsm]?|quels?|quelles?|qu[eé]|cu[aá]l(?:es)?|quale|quali|welke?|qual) (?:(?!batch"
    rf"|context|speed|throughput|concurrency|latency)[\w'-]+ ){{0,2}}?(?:gpus?|cards?|hardware|machines?|servers?"
    r"|box|accelerators?|chips?|setup|karten?|grafikkarten?|cartes?|tarjetas?|schede|scheda|sku|skus|instances?"
    r"|node|config\w*|kit|kaart|placa)\b"
    r"|^\W*hw\b|\b(?:suggest|propose) (?:an? |some )?(?:setup|hardware|config\w*|gpus?)\b"
    r"|\bwhat (?:should|do|would|must|can|to) (?:we|i|you)? ?(?:buy|get|order|need|purchase|rent|procure)\b"
    r"|\bwhat to (?:buy|get|order|rent)\b|\bshould (?:we|i) (?:buy|get|order|rent|purchase)\b"
    r"|(?<!batch )(?<!window )(?<!context )\bsiz(?:ing|e (?:this|it|for|me|a|my|our|up|us|the|§model))\b|^\W*size\b"
    r"|\bright-?siz\w+|\bdimension\w*"
    r"|\b(?:smallest|cheapest|minimum|minimal|fewest|least|best|recommended|right|ideal|optimal"
    rf"|suitable) (?:[\w-]+ ){{0,2}}?(?:{_HARDWARE}|option|way|deployment|cluster|fleet)\b|\brecommend\b"
    r"|\bhow (?:big|large) (?:an? |of an? )?(?:cluster|fleet|node|box|server|deployment|pool|should|must)\b"
    r"|\bwie gro(?:ss|ß) (?:muss|soll\w*|m[uü]sste?)\b|\btaille (?:de|du) (?:cluster|parc)\b"
    rf"|\brank(?:ing)? (?:of )?(?:all |the |every |your |my )*{_HARDWARE}\b"
    r"|\bhardware (?:advice|recommendations?|suggestions?)\b|\b(?:advice|recommendations?) on (?:hardware|gpus?)\b"
    r"|\bwhat would it take\b|\bwas (?:brauche|brauchen|sollen"
    r"|sollten)\b|\bde quoi\b.*besoin|\bqu[eé] (?:necesito|necesitamos|compramos|comprar)\b|\bprocure(?:ment)?\b"
    r"|\bto buy\b|\bshopping\b|\bfleet size\b"
)
_SIZE_OPEN = re.compile(r"(?:how many|wie ?viele?|combien|cu[aá]nt[oa]s|quant[ie]|hoeveel)\W+§")
_LOADS = (
    r"(?:users?|requests?|reqs?|clients?|people|sessions?|streams?|chats?|sequences?|conversations?|callers?"
    r"|connections?|nutzer\w*|benutzer\w*|anfragen|utilisateurs?|requ[eê]tes?|usuarios?|peticiones|solicitudes"
    r"|utenti|richieste|agents?|employees|prompts|tickets|documents|calls|queries)"
)
_BEAR = r"(?:take|handle|serve|support|sustain|go|push|do|manage|bear|cope with)\b"
_BATCH = re.compile(
    rf"{_HOW_MANY}\W+(?:d'|de )?(?:[\w'-]+\W+){{0,2}}?(?:concurrent\w*|parallel\w*|simultaneous\w*"
    rf"|simultan[eé]\w*|gleichzeitig\w*|{_LOADS}|at once|at the same time|in flight)\b"
    r"|\b(?:max(?:imum|imal|imale)?|highest|most|best|optimal|ideal|right|critical|crossover|what|which|largest"
    r"|biggest|peak|good|sweet[\s-]spot|beste|optimale|meilleure?|mejor|largest|proper|recommended"
    r"|maximale?)\W+(?:[\w'-]+\W+){0,2}?(?:batch\w*|concurren\w+|parallel\w*|nebenl[aä]ufigkeit|in flight"
    r"|max[\s_-]num[\s_-]seqs|taille de (?:batch|lot)|lote)\b"
    r"|\b(?:batch(?:[\s-]?size)?s?|taille de (?:batch|lot)|batchgr[oö](?:ss|ß)e|tama[nñ]o de lote)\b"
    r"|\bcross-?over\b|\bb\*|\bb[\s_-]?(?:star|crit\w*|cross)\b|\bcompute[\s-]?bound\b|\bmemory[\s-]?bound\b"
    r"|\bsaturat\w+|\bridge\b"
    rf"|\bmax(?:imum)?\b[^.?!]{{0,12}}?\b(?:it|they|this|that|we|you|i|one)\b (?:can|could|will|would) {_BEAR}"
    rf"|\bhow (?:many|much|far)(?: more| load)? (?:can|could|will|would) (?:it|this|that|they|we|i|one) {_BEAR}"
)
_FITS = re.compile(
    r"\b(?:fitt?s?|fitting|fit in|oom|vram|holds?|room|pass(?:t|en)|hineinpasst|reinpass\w+|rentre\w*|tien(?:t"
    r"|nent)|loge|cabe|caben|entra|entran|sta|stanno|past|possible|m[oö]glich|geht das|posible|possibile|fit on"
    r"|squeeze|space for|out of memory|blow up|crash|enough (?:memory|vram|space|for)|is (?:it|that|this|one"
    r"|\w+ ?§sku) enough|big enough|large enough|suffices?|sufficient|reicht|reichen|suffit|suffisent"
    r"|suffisante?s?|gen[uü]g(?:t|en|end)|ausreichend|genoeg|voldoende|bastan|alcanzan|alcanza"
    r"|basta|bastano)\b"
    r"|\b(?:how much|what) (?:gpu |of )?(?:v?ram|memory|hbm|kv|cache|space)\b"
    r"|\b(?:longest|largest|biggest|max(?:imum)?)"
    r" (?:possible |single )?(?:prompt|input|document|conversation|message)\b|\b(?:largest|longest|max(?:imum)?"
    r"|biggest|how (?:long|large|big|much)(?: of)?(?: a)?|what|which|welche[rs]? (?:max\w* )?|quelle?"
    r"|maximale?r?) (?:[\w-]+ )?(?:context\w*|ctx|window|kontext\w*|sequence|contexte|contexto)\b"
    r"|\b(?:does|do|will|would|can|could|it|did|to|and)\b[^.?!]{0,60}(?<!the )(?<!our )(?<!peak )(?<!under )\bload\b"
    r"(?! of| is| test)|\bloads\b|\benough\b"
)
_RUN = re.compile(
    r"\b(?:can|could|will|would|does|do|is|able to|possible to|kann|k[oö]nnen|l[aä]uft|laufen|peut|peux|tourne"
    r"|tournent|puede|puedo|podemos|corre|pu[oò]|gira|kan|draait|roda|wollen)\b[^.!]{0,80}?\b(?:run|runs|running"
    r"|be run|work on|laufen|l[aä]uft|tourner?|tournent|correr|corre|ejecutar|girare|gira|draaien|draait|rodar"
    r"|host|roda)\b|\bl[aä]uft\b|\btourne\b|\brunnable\b|\brun(?:s)? (?:on|it|in)\b.*\?|^\W*runs?\b"
)
_PERFORMANCE = re.compile(
    r"\b(?:keep up|keeps up|handle|handles|cope|sustain|speed|fast|slow|throughput|latency|tok/s"
    r"|tokens per second|expect|vitesse|schnell|geschwindigkeit|velocidad|r[aá]pid\w*|velocit[aà]|performance"
    r"|serve)\b"
)
_COMPARE = re.compile(
    r"\b(?:compare|comparison|vs|versus|against|vergleich\w*|compar\w+|better|which (?:one|is)|oder|difference"
    r"|besser|mieux|mejor|instead of)\b"
)
_DOMAIN = re.compile(
    r"\b(?:gpus?|llms?|models?|tokens?|vram|inference|serv(?:e|ing)|batch\w*|context|ctx|throughput|latency|ttft"
    r"|tpot|kv|cache|quanti[sz]\w+|concurren\w+|vllm|sglang|hardware|cards?|replicas?|self[\s-]?host\w*|rps|qps)\b|§"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What the intent is decided on."""

    text: str
    """The whole text, GPUs written §sku and models §model."""
    open: str
    """The same with everything else that was understood blanked by §."""
    money_asked: bool
    axes: bool
    """Two or more SKUs, models, formats or layouts."""
    content: bool
    """Something was understood."""
    named: bool
    """A model or GPU was named, known or not."""
    loaded: bool
    """A rate, target or concurrency was said."""
    followed: bool
    """There is an earlier request to edit."""
    priced_api: bool = False
    slight: bool = False
    """Only one length, budget or headcount among words of another matter."""


def intent_of(s: Signals) -> str | None:
    """The intent; ``None`` when a follow-up says none of its own, ``unknown`` when out of scope."""
    if _HELP.search(s.text) and not s.named and not s.loaded:
        return "help"
    if _TRAIN.search(s.text) or (_ACTION.match(s.text) and not s.followed and not s.loaded):
        return "unknown"
    found = _asked(s)
    if found is not None and not s.content and not s.followed and not _about_capacity(s.text):
        return "unknown"
    if found is not None or s.followed:
        return found if found is not None or s.content else "unknown"
    return "plan" if (s.content and not s.slight) or s.named else "unknown"


def _about_capacity(text: str) -> bool:
    """A short question, or one with a word of the trade in it."""
    return len(text.split()) <= 3 or bool(_DOMAIN.search(text))


def _asked(s: Signals) -> str | None:  # noqa: PLR0911 - one return per intent, in their order
    if _WHY.search(s.text):
        return "why"
    if s.axes:
        return "compare"
    if s.money_asked or s.priced_api or _COST.search(s.open):
        return "cost"
    if _SIZE.search(s.text) and not _unsized(s):
        return "size"
    if _BATCH.search(s.open):
        return "batch"
    if _FITS.search(s.open) or (_RUN.search(s.text) and not (s.loaded and _PERFORMANCE.search(s.text))):
        return "fits"
    if not s.followed and s.named and re.search(r"\bcompare\b|\bvs\b|\bversus\b", s.text):
        return "compare"
    return "plan" if _PERFORMANCE.search(s.text) and (s.content or s.named) and not s.followed else None


def load_asked(text: str) -> bool:
    """Whether it is asked how many users or requests there may be."""
    return re.search(rf"{_HOW_MANY}\W+(?:d'|de )?(?:[\w'-]+\W+){{0,2}}?{_LOADS}\b", text) is not None


def _unsized(s: Signals) -> bool:
    """A number of users or requests is asked, not of GPUs."""
    return bool(
        re.search(rf"{_HOW_MANY}\W+(?:concurrent |parallel |simultaneous )?{_LOADS}\b", s.text)
    ) and not re.search(rf"{_HOW_MANY}\W+(?:§sku|gpus?|cards?|nodes?)", s.text)
