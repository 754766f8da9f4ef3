"""Sentences as people and programs write them: words with natural frequencies, failures, Japanese, Chinese."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

_FREQUENT = (
    "the of and to in a is for that it on with as be at by this are from or was we an not have you which has will can "
    "if all were when your their one more they there about would what been its out up so into other than then only "
    "time new some these may do first any our two also how between use after most over such where each should "
    "before must through while because both now during under very without same those being still since against "
    "order customer invoice payment refund account report service request response value table row column field "
    "agent model prompt answer question document page search query result record message user session policy price "
    "amount total average region supplier summary balance deadline review change update status ticket forecast release "
    "flight deploy queue worker cache index cluster storage network client server region version branch commit build "
    "during following using including starting running waiting ending making adding reading writing sending loading "
    "processing information transaction configuration application connection description action option section"
)
"""Words by falling frequency: those of the language, then those of the trade."""
_STEMS = (
    "accept adjust allocat analy approv archiv assign attach audit bill book calculat cancel captur charg check clean "
    "classif clos collect compar compil complet compress comput confirm consum convert copy correct count creat debit "
    "decid declin deliver detect discount dispatch distribut download draft encod escalat estimat evaluat exchang "
    "expand export extract filter forward generat group handl highlight import inspect install integrat invest issu "
    "label launch link list load lock manag mark measur merg migrat monitor negotiat normaliz notif observ open order "
    "organiz pack pars plan post predict prepar present print prioritiz process produc profil project publish purchas "
    "rank rebuild receiv recommend reconcil redirect reduc refresh regist relay remind remov renew repair replac "
    "reserv resolv restor retriev return revers rotat rout sampl scan schedul select settl shard shift ship sign "
    "simulat sort split stor stream subscrib suggest support suspend switch sync tag tokeniz trac track train transfer "
    "translat transmit trigger validat verif visit watch weigh withdraw wrap"
)
_ENDINGS = ("ing", "ed", "ation", "es", "or", "able", "ment", "ive", "e", "ition", "al", "ers")
_STEEPNESS = 1.02
"""The exponent of Zipf's law."""
_FLATTENED_RANKS = 4
"""How many of the first ranks are about equally frequent (Mandelbrot's shift)."""

SYSTEM_PROMPTS = (
    "You are a helpful assistant of the support team. Answer in the language of the customer.",
    "Answer questions about orders. Never promise a refund that the policy does not allow.",
    "The assistant plans first, then calls tools, and says which sources it used.",
    "Follow the house style: short sentences, no jargon. Ask if something is missing.",
)


class Phrase(NamedTuple):
    """What is said now and then: a sentence, and in which share of texts it stands."""

    text: str
    share: float


FAILURES = (
    Phrase("connection refused by 10.0.{}.17:5432", 0.24),
    Phrase("read timeout after {} s, no answer from the gateway", 0.22),
    Phrase("rate limit exceeded: {} requests a minute are allowed", 0.14),
    Phrase("permission denied for /srv/data/{}.csv", 0.05),
    Phrase("could not parse line {} of the reply", 0.12),
    Phrase("max retries exceeded with url: /v1/items/{}", 0.05),
    Phrase("no module named 'config_{}', the config file is missing", 0.03),
    Phrase("TypeError: the reply has no items at line {}", 0.15),
)
"""What failed calls say; the shares add up to 1."""

REMARKS = (
    Phrase("An error was logged {} times.", 0.055),
    Phrase("The connection refused to close after {} tries.", 0.002),
    Phrase("A timeout of {} seconds is set.", 0.008),
    Phrase("Its rate limit exceeded the plan by {}.", 0.002),
    Phrase("Some permission denied the copy of {} files.", 0.0005),
    Phrase("It could not be matched with invoice {}.", 0.0035),
    Phrase("The config file has {} lines.", 0.0005),
)
"""What results of tools say of failures besides."""

_JAPANESE = (
    "この注文の状態を確認してください", "請求書の金額が合いません", "お客様の口座に返金しました", "在庫の数を調べます",
    "明日の天気は晴れの予報です", "来週の会議の資料を準備します", "配送の予定日は{}日です", "担当者に連絡しました",
    "検索の結果は{}件でした", "料金の一覧を送ります", "契約の更新が必要です", "返品の手続きを始めます",
)  # fmt: skip
_JAPANESE_SYSTEM = "システムの設定を変更しました"
_JAPANESE_SYSTEM_SHARE = 0.005
_CHINESE = (
    "请查询这个订单的状态", "发票金额与合同不一致", "退款已经转到客户账户", "明天的天气预报是晴天",
    "仓库里还有{}件商品", "会议资料下周准备好", "配送时间大约需要{}天", "请联系负责的同事", "搜索结果一共{}条",
    "价格表已经发送", "合同需要更新",
)  # fmt: skip
_CHINESE_INSTALL = "请先安装最新版本的客户端"
_CHINESE_INSTALL_SHARE = 0.008


class Sentences:
    """Draws sentences."""

    def __init__(self, rng: np.random.Generator) -> None:
        """Draws with `rng`."""
        self._rng = rng

    def english(self, count: int) -> list[str]:
        """Returns sentences of 5 to 14 words, each with a number."""
        frequent = list(dict.fromkeys(_FREQUENT.split()))
        derived = [stem + ending for stem in _STEMS.split() for ending in _ENDINGS]
        words = [*frequent, *self._rng.permutation(derived).tolist()]
        lengths = self._rng.integers(5, 14, count, endpoint=True)
        drawn = self._rng.choice(len(words), int(lengths.sum()), p=_zipf(len(words)))
        numbers = self._rng.integers(1, 100_000, count).tolist()
        parts = _split([words[place] for place in drawn.tolist()], lengths.tolist())
        return [f"{' '.join(part).capitalize()} {number}." for part, number in zip(parts, numbers, strict=True)]

    def japanese(self, count: int) -> list[str]:
        """Returns Japanese sentences."""
        return self._of_parts(_JAPANESE, _JAPANESE_SYSTEM, _JAPANESE_SYSTEM_SHARE, count)

    def chinese(self, count: int) -> list[str]:
        """Returns Chinese sentences."""
        return self._of_parts(_CHINESE, _CHINESE_INSTALL, _CHINESE_INSTALL_SHARE, count)

    def joined(self, sentences: Sequence[str], bounds: tuple[int, int], count: int, between: str = " ") -> list[str]:
        """Returns texts of sentences drawn anew, as many in each as `bounds` allow."""
        lengths = self._rng.integers(*bounds, count, endpoint=True)
        places = self._rng.integers(0, len(sentences), int(lengths.sum())).tolist()
        return [between.join(part) for part in _split([sentences[place] for place in places], lengths.tolist())]

    def failures(self, count: int) -> list[str]:
        """Returns messages of failed calls."""
        shares = np.array([phrase.share for phrase in FAILURES])
        places = self._rng.choice(len(FAILURES), count, p=shares / shares.sum()).tolist()
        numbers = self._rng.integers(1, 250, count).tolist()
        return [FAILURES[place].text.format(number) for place, number in zip(places, numbers, strict=True)]

    def with_remarks(self, texts: Sequence[str]) -> list[str]:
        """Returns the texts, some with remarks at their ends, in the shares of `REMARKS`."""
        extended = list(texts)
        for phrase in REMARKS:
            chosen = np.flatnonzero(self._rng.random(len(texts)) < phrase.share)
            numbers = self._rng.integers(2, 90, len(chosen)).tolist()
            for place, number in zip(chosen.tolist(), numbers, strict=True):
                extended[place] += f" {phrase.text.format(number)}"
        return extended

    def _of_parts(self, parts: Sequence[str], rare: str, share: float, count: int) -> list[str]:
        places = self._rng.integers(0, len(parts), count).tolist()
        is_rare = (self._rng.random(count) < share).tolist()
        numbers = self._rng.integers(1, 100_000, count).tolist()
        drawn = zip(places, is_rare, numbers, strict=True)
        return [f"{rare if is_one else parts[place].format(number)} {number}。" for place, is_one, number in drawn]


def _zipf(count: int) -> FloatArray:
    """Returns the probabilities of `count` words by falling frequency."""
    weights = 1.0 / (np.arange(count) + _FLATTENED_RANKS) ** _STEEPNESS
    probabilities: FloatArray = weights / weights.sum()
    return probabilities


def _split(items: list[str], lengths: list[int]) -> Iterator[list[str]]:
    """Yields consecutive parts of `items` with these lengths."""
    end = 0
    for length in lengths:
        begin, end = end, end + length
        yield items[begin:end]
