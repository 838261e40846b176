(* The theorems for integers, as the formulas have them: lists of what the program is given, integer roots, minima. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring zify ssrZ.
From Graphveil Require Import Formulas Vectors Columns.
Import Order.Theory GRing.Theory Num.Theory.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Definition listed n (x : 'I_n -> Z) : seq Z := [seq x j | j <- enum 'I_n].

Lemma sum_listed n (x : 'I_n -> Z) : sum (listed x) = \sum_j x j.
Proof.
rewrite /listed -big_enum /=; elim: (enum 'I_n) => [|j l IH]; first by rewrite big_nil.
by rewrite big_cons -IH.
Qed.

Lemma sum_of_squares_listed n (x : 'I_n -> Z) : sum_of_squares (listed x) = sq x.
Proof.
rewrite /sum_of_squares /listed /sq -big_enum /=; elim: (enum 'I_n) => [|j l IH]; first by rewrite big_nil.
by rewrite big_cons -IH /=; lia.
Qed.

Lemma sum_pairs n (x y : 'I_n -> Z) (F : Z * Z -> Z) :
  sum (map F (List.combine (listed x) (listed y))) = \sum_j F (x j, y j).
Proof.
rewrite /listed -big_enum /=; elim: (enum 'I_n) => [|j l IH]; first by rewrite big_nil.
by rewrite big_cons -IH.
Qed.

Lemma largest_ge0 l : 0 <= largest l.
Proof. by elim: l => [|x l IH] //=; lia. Qed.

Lemma largest_ge n (x : 'I_n -> Z) j : x j <= largest (listed x).
Proof.
rewrite /listed; have : j \in enum 'I_n by rewrite mem_enum.
elim: (enum 'I_n) => [|i l IH] //=; rewrite inE => /orP [/eqP ->|/IH]; lia.
Qed.

Lemma root_ge0 n : 0 <= Z.sqrt n + 1.
Proof. have := Z.sqrt_nonneg n; lia. Qed.

Lemma root_above n : 0 <= n -> n <= (Z.sqrt n + 1) ^+ 2.
Proof. move=> n0; have := Z.sqrt_spec n; lia. Qed.
