"""The wall: noise, selection, budget, ledger, and the questions that may cross it.

Nothing outside this package may see an exact count or draw noise.
"""

from privet.privacy.budget import GDP, ZCDP, Budget, Cost, in_parallel, in_sequence
from privet.privacy.charges import Charge, Receipt
from privet.privacy.laws import Change, law_of, noise_sd
from privet.privacy.ledger import Account, Ledger
from privet.privacy.mechanisms import Mechanisms, Repeatable, Secure
from privet.privacy.prepaid import Payer, Prepaid, Quote
from privet.privacy.protected import Protected, protect, quotes
from privet.privacy.totals import State
from privet.privacy.transaction import Transaction

__all__ = ["GDP", "ZCDP", "Account", "Budget", "Change", "Charge", "Cost", "Ledger", "Mechanisms"]
__all__ += ["Payer", "Prepaid", "Protected", "Quote", "Receipt", "Repeatable", "Secure", "State"]
__all__ += ["Transaction", "in_parallel", "in_sequence", "law_of", "noise_sd", "protect", "quotes"]
