from django.urls import path, re_path

from accounts.members import account_pages, first_owner_page, invitation_pages, pages as member_pages, token_pages
from accounts.sign_in import pages as sign_in_pages

app_name = "accounts"
urlpatterns = [
    path("begin/", first_owner_page.begin, name="begin"),
    path("sign-in/", sign_in_pages.sign_in, name="sign_in"),
    path("sign-out/", sign_in_pages.sign_out, name="sign_out"),
    # account/
    path("account/", account_pages.account, name="account"),
    path("account/password/", account_pages.change_password, name="change_password"),
    path("account/browsers/forget/", account_pages.forget_known_browsers, name="forget_browsers"),
    path("account/tokens/", token_pages.tokens, name="tokens"),
    path("account/tokens/<str:public_id>/revoke/", token_pages.revoke, name="revoke_token"),
    # invitation/
    path("invitation/<str:token>/", invitation_pages.invitation, name="invitation"),
    # people/
    path("people/", member_pages.people, name="people"),
    path("people/<slug:slug>/", member_pages.people, name="people_of"),
    re_path(
        r"^people/(?P<slug>[-\w]+)/(?P<public_id>[^/]+)/(?P<verb>role|password|remove)/$",
        member_pages.change_person,
        name="change_person",
    ),
    path(
        "people/<slug:slug>/invitations/<str:public_id>/withdraw/",
        member_pages.withdraw_invitation,
        name="withdraw_invitation",
    ),
]
