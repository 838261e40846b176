(* Theorems 11 and 13: what rounds cost together, in exact fractions, and what the weights of a person add up to. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import zify.
Import Order.Theory GRing.Theory Num.Theory.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Filter.
Variable answer : Type.
Variables mu eta : rat.

(* Steps are pairs (mu, eta) of floats, which are fractions. *)
Definition covers (steps : seq (rat * rat)) : bool :=
  (\sum_(s <- steps) s.1 ^+ 2 <= mu ^+ 2) && (\sum_(s <- steps) s.2 <= eta).

(* Whoever asks sees all answers so far, and may choose the next step, or stop, by them. A step is answered if it is
   covered with those before it; else the release ends. *)
Variable ask : seq answer -> option (rat * rat).
Fixpoint answered (noisy past : seq answer) (steps : seq (rat * rat)) : seq (rat * rat) :=
  if noisy is a :: later then
    if ask past is Some s then
      if covers (rcons steps s) then answered later (rcons past a) (rcons steps s) else steps
    else steps
  else steps.

Theorem release_covered noisy : 0 <= eta -> covers (answered noisy [::] [::]).
Proof.
move=> eta0; have : covers [::] by rewrite /covers !big_nil sqr_ge0.
elim: noisy [::] [::] => [|a later IH] past steps //= c.
by case: (ask past) => [s|] //; case: ifP => // /IH.
Qed.
End Filter.

(* A row's weight v, at most W, divided among the m rows of a person. *)
Theorem weights_fit (m W : nat) (v : 'I_m -> nat) : (forall t, (v t <= W)%N) -> (\sum_t v t %/ m <= W)%N.
Proof.
move=> vW; apply: (@leq_trans (\sum_(t < m) W %/ m)); first by apply: leq_sum => t _; apply: leq_div2r.
by rewrite sum_nat_const card_ord mulnC leq_trunc_div.
Qed.
